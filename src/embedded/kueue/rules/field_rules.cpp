// SPDX-License-Identifier: Apache-2.0
#include "embedded/kueue/rules/field_rules.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "kube/names/names.hpp"
#include "kube/text/json.hpp"
#include "kube/text/quantity.hpp"

namespace athanor::kueue {
namespace {

bool is_empty(const Value& value) {
  return value.is_null() || ((value.is_object() || value.is_list()) && value.empty());
}

// Without members that are empty, at any depth.
Value without_empty(const Value& value) {
  if (value.is_object()) {
    Value kept = Value::object();
    for (const Member& member : value.members()) {
      if (Value inner = without_empty(member.value); !is_empty(inner)) {
        kept.set(member.key(), std::move(inner));
      }
    }
    return kept;
  }
  if (value.is_list()) {
    Value kept = Value::list();
    for (const Value& item : value.items()) {
      kept.push_back(without_empty(item));
    }
    return kept;
  }
  return value;
}

bool same_scalars(const Value& a, const Value& b) {
  if (a == b) {
    return true;
  }
  const auto left = Quantity::parse(a);
  const auto right = Quantity::parse(b);
  return left && right && *left == *right;
}

bool same(const Value& a, const Value& b) {
  if (a.is_object() && b.is_object()) {
    const auto members = a.members();
    return a.size() == b.size() && std::ranges::all_of(members, [&](const Member& member) {
             const Value* other = b.find(member.key());
             return other != nullptr && same(member.value, *other);
           });
  }
  if (a.is_list() && b.is_list()) {
    const auto left = a.items();
    const auto right = b.items();
    return std::ranges::equal(left, right, same);
  }
  return same_scalars(a, b);
}

}  // namespace

void invalid(Errors& errors, const std::string& path, std::string_view value,
             std::string_view why) {
  errors.push_back(fmt::format("{}: Invalid value: {}: {}", path, value, why));
}

void unsupported(Errors& errors, const std::string& path, std::string_view value,
                 const std::vector<std::string>& supported) {
  std::string list;
  for (const std::string& one : supported) {
    list += (list.empty() ? "" : ", ") + json::quote(one);
  }
  errors.push_back(
      fmt::format("{}: Unsupported value: {}: supported values: {}", path, value, list));
}

std::string shown_quantity(const Value& value) {
  const auto quantity = Quantity::parse(value);
  return quantity ? json::quote(quantity->text()) : json::print(value);
}

void check_not_negative(Errors& errors, const std::string& path, const Value& quantity) {
  const auto parsed = Quantity::parse(quantity);
  if (parsed && parsed->is_negative()) {
    invalid(errors, path, shown_quantity(quantity), "must be greater than or equal to 0");
  }
}

void check_labels(Errors& errors, const std::string& path, const Value& labels) {
  for (const Member& label : labels.members()) {
    if (const auto wrong = validate_label_key(label.key())) {
      invalid(errors, path, json::quote(std::string(label.key())), *wrong);
    }
    if (const auto wrong = validate_label_value(label.value.as_string())) {
      invalid(errors, path, json::quote(label.value.str()), *wrong);
    }
  }
}

void check_annotations(Errors& errors, const std::string& path, const Value& annotations) {
  for (const Member& annotation : annotations.members()) {
    if (const auto wrong = validate_annotation_key(annotation.key())) {
      invalid(errors, path, json::quote(std::string(annotation.key())), *wrong);
    }
  }
}

void check_tolerations(Errors& errors, const std::string& path, const Value& tolerations) {
  for (std::size_t i = 0; i < tolerations.size(); ++i) {
    const std::string key = tolerations[i]["key"].str();
    if (key.empty()) {
      continue;
    }
    if (const auto wrong = validate_label_key(key)) {
      invalid(errors, fmt::format("{}[{}].key", path, i), json::quote(key), *wrong);
    }
  }
}

void check_selector(Errors& errors, const std::string& path, const Value& selector) {
  check_labels(errors, path + ".matchLabels", selector["matchLabels"]);
  const Value& expressions = selector["matchExpressions"];
  for (std::size_t i = 0; i < expressions.size(); ++i) {
    const Value& one = expressions[i];
    const std::string at = fmt::format("{}.matchExpressions[{}]", path, i);
    const std::string_view op = one["operator"].as_string();
    const bool takes_values = op == "In" || op == "NotIn";
    if (takes_values && one["values"].empty()) {
      errors.push_back(at +
                       ".values: Required value: must be specified when `operator` is 'In' or "
                       "'NotIn'");
    } else if ((op == "Exists" || op == "DoesNotExist") && !one["values"].empty()) {
      errors.push_back(at +
                       ".values: Forbidden: may not be specified when `operator` is 'Exists' "
                       "or 'DoesNotExist'");
    } else if (!takes_values && op != "Exists" && op != "DoesNotExist") {
      invalid(errors, at + ".operator", json::print(one["operator"]),
              "not a valid selector operator");
    }
    if (const auto wrong = validate_label_key(one["key"].as_string())) {
      invalid(errors, at + ".key", json::print(one["key"]), *wrong);
    }
    for (std::size_t j = 0; j < one["values"].size(); ++j) {
      if (const auto wrong = validate_label_value(one["values"][j].as_string())) {
        invalid(errors, fmt::format("{}.values[{}]", at, j), json::print(one["values"][j]), *wrong);
      }
    }
  }
}

void check_weight(Errors& errors, const std::string& path, const Value& weight) {
  const auto quantity = Quantity::parse(weight);
  if (!quantity) {
    return;  // refused by its schema, or absent
  }
  const auto zero = Quantity::parse(Value("0"));
  const auto least = Quantity::parse(Value("10n"));
  if (quantity->is_negative()) {
    invalid(errors, path, shown_quantity(weight), "must be greater than or equal to 0");
  } else if (zero && least && *quantity != *zero && *quantity <= *least) {
    invalid(errors, path, shown_quantity(weight), "When not 0, weight must be > 10e-9");
  }
}

bool equivalent(const Value& a, const Value& b) {
  return same(without_empty(a), without_empty(b));
}

}  // namespace athanor::kueue
