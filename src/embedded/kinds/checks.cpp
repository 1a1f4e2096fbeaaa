// SPDX-License-Identifier: Apache-2.0
#include "embedded/kinds/checks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <iterator>
#include <map>

#include "embedded/kinds/edit.hpp"
#include "kube/text/formats.hpp"
#include "kube/text/quantity.hpp"

namespace athanor::apiserver {

void append(FieldErrors& errors, FieldErrors more) {
  errors.insert(errors.end(), std::make_move_iterator(more.begin()),
                std::make_move_iterator(more.end()));
}

std::string at(std::string_view path, std::size_t index) {
  return fmt::format("{}[{}]", path, index);
}

std::string at(std::string_view path, std::string_view key) {
  return fmt::format("{}[{}]", path, key);
}

std::string below(std::string_view path, std::string_view field) {
  return path.empty() ? std::string(field) : fmt::format("{}.{}", path, field);
}

void check_name(FieldErrors& errors, const std::string& path, std::string_view text,
                NameError (*rule)(std::string_view)) {
  if (rule == &validate_qualified_name || rule == &validate_label_key) {
    for (const std::string& wrong : qualified_name_errors(text)) {
      errors.push_back(FieldError::invalid(path, text, wrong));
    }
    return;
  }
  if (const NameError error = rule(text)) {
    errors.push_back(FieldError::invalid(path, text, *error));
  }
}

void require_name(FieldErrors& errors, const std::string& path, std::string_view text,
                  NameError (*rule)(std::string_view)) {
  if (text.empty()) {
    errors.push_back(FieldError::required(path));
  } else {
    check_name(errors, path, text, rule);
  }
}

bool require(FieldErrors& errors, const std::string& path, const Value& value,
             std::string_view text) {
  const bool absent = value.is_null() || (value.is_string() && value.as_string().empty()) ||
                      ((value.is_list() || value.is_object()) && value.empty());
  if (absent) {
    errors.push_back(FieldError::required(path, text));
  }
  return !absent;
}

void check_choice(FieldErrors& errors, const std::string& path, const Value& value,
                  const std::vector<std::string>& choices) {
  if (!value.as_string().empty() &&
      std::find(choices.begin(), choices.end(), value.as_string()) == choices.end()) {
    errors.push_back(FieldError::not_supported(path, value, choices));
  }
}

void check_choice_always(FieldErrors& errors, const std::string& path, const Value& value,
                         const std::vector<std::string>& choices) {
  if (std::find(choices.begin(), choices.end(), value.as_string()) == choices.end()) {
    errors.push_back(FieldError::not_supported(path, Value(value.as_string()), choices));
  }
}

void require_choice(FieldErrors& errors, const std::string& path, const Value& value,
                    const std::vector<std::string>& choices) {
  if (require(errors, path, value)) {
    check_choice(errors, path, value, choices);
  }
}

void check_not_negative(FieldErrors& errors, const std::string& path, const Value& value) {
  if (value.as_int() < 0) {
    errors.push_back(FieldError::invalid(path, value, "must be greater than or equal to 0"));
  }
}

void check_between(FieldErrors& errors, const std::string& path, const Value& value,
                   std::int64_t least, std::int64_t most) {
  if (value.is_number() && (value.as_int() < least || value.as_int() > most)) {
    errors.push_back(FieldError::invalid(
        path, value, fmt::format("must be between {} and {}, inclusive", least, most)));
  }
}

void check_unchanged(FieldErrors& errors, const std::string& path, const Value& now,
                     const Value& before) {
  if (now != before) {
    // A text that is left out is empty, unless the reference knows it by a pointer.
    const bool pointer =
        is_one_of(path, {"volumeMode", "spec.nodeName", "spec.completionMode", "spec.managedBy",
                         "preemptionPolicy", "eventTime", "firstTimestamp", "lastTimestamp"});
    errors.push_back(FieldError::invalid(
        path, now.is_null() && before.is_string() && !pointer ? Value("") : now, kImmutable));
  }
}

void check_port(FieldErrors& errors, const std::string& path, std::int64_t port) {
  if (port < 1 || port > 65535) {
    errors.push_back(FieldError::invalid(path, port, "must be between 1 and 65535, inclusive"));
  }
}

void check_port_or_name(FieldErrors& errors, const std::string& path, const Value& port) {
  if (!port.is_string()) {
    check_port(errors, path, port.as_int());
    return;
  }
  const std::string_view name = port.as_string();
  const auto wrong = [&](std::string_view text) {
    errors.push_back(FieldError::invalid(path, name, text));
  };
  if (name.size() > 15) {
    wrong("must be no more than 15 characters");
    return;
  }
  const auto is_letter = [](char c) { return c >= 'a' && c <= 'z'; };
  const auto is_plain = [&](char c) { return is_letter(c) || (c >= '0' && c <= '9') || c == '-'; };
  if (name.empty() || !std::ranges::all_of(name, is_plain)) {
    wrong("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)");
  }
  if (std::ranges::none_of(name, is_letter)) {
    wrong("must contain at least one letter (a-z)");
  }
  if (name.find("--") != std::string_view::npos) {
    wrong("must not contain consecutive hyphens");
  }
  if (!name.empty() && (name.front() == '-' || name.back() == '-')) {
    wrong("must not begin or end with a hyphen");
  }
}

namespace {

// Numbers with zeros before them are read as if these were not there.
std::string without_zeros(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool first = i == 0 || text[i - 1] == '.';
    std::size_t zeros = i;
    while (first && zeros + 1 < text.size() && text[zeros] == '0' && text[zeros + 1] >= '0' &&
           text[zeros + 1] <= '9') {
      ++zeros;
    }
    i = zeros;
    plain += text[i];
  }
  return plain;
}

}  // namespace

void check_ip(FieldErrors& errors, const std::string& path, std::string_view given) {
  const std::string text =
      given.find(':') == std::string_view::npos ? without_zeros(given) : std::string(given);
  if (text.empty() || (!matches_format("ipv4", text) && !matches_format("ipv6", text))) {
    errors.push_back(FieldError::invalid(
        path, given, "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"));
  }
}

void check_labels(FieldErrors& errors, const std::string& path, const Value& labels) {
  for (const Member& label : labels.members()) {
    for (const std::string& wrong : qualified_name_errors(label.key())) {
      errors.push_back(FieldError::invalid(path, label.key(), wrong));
    }
    check_name(errors, path, label.value.as_string(), &validate_label_value);
  }
}

void check_annotations(FieldErrors& errors, const std::string& path, const Value& annotations) {
  for (const Member& annotation : annotations.members()) {
    std::string key(annotation.key());
    std::ranges::transform(key, key.begin(),
                           [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    for (const std::string& wrong : qualified_name_errors(key)) {
      errors.push_back(FieldError::invalid(path, annotation.key(), wrong));
    }
  }
}

Value shown_labels(const Value& labels) {
  std::map<std::string, Value> sorted;
  for (const Member& label : labels.members()) {
    sorted.emplace(label.key(), label.value);
  }
  Value shown;
  for (const auto& [key, value] : sorted) {
    shown = shown.is_null() ? Value::object() : std::move(shown);
    shown.set(key, value);
  }
  return shown;
}

Value shown_selector(Value selector) {
  if (selector["matchLabels"].size() > 1) {
    selector.set("matchLabels", shown_labels(selector["matchLabels"]));
  }
  return selector;
}

void check_label_selector(FieldErrors& errors, const std::string& path, const Value& selector) {
  check_labels(errors, below(path, "matchLabels"), selector["matchLabels"]);
  const std::string list = below(path, "matchExpressions");
  for (std::size_t i = 0; i < selector["matchExpressions"].size(); ++i) {
    const Value& expression = selector["matchExpressions"][i];
    const std::string here = at(list, i);
    check_name(errors, here + ".key", expression["key"].as_string(), &validate_label_key);
    const std::string_view op = expression["operator"].as_string();
    const bool has_values = !expression["values"].empty();
    if (is_one_of(op, {"In", "NotIn"})) {
      if (!has_values) {
        errors.push_back(FieldError::required(
            here + ".values", "must be specified when `operator` is 'In' or 'NotIn'"));
      }
    } else if (is_one_of(op, {"Exists", "DoesNotExist"})) {
      if (has_values) {
        errors.push_back(FieldError::forbidden(
            here + ".values",
            "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"));
      }
    } else {
      errors.push_back(FieldError::invalid(here + ".operator", expression["operator"],
                                           "not a valid selector operator"));
    }
    for (std::size_t j = 0; j < expression["values"].size(); ++j) {
      check_name(errors, at(here + ".values", j), expression["values"][j].as_string(),
                 &validate_label_value);
    }
  }
}

namespace {

void check_node_requirement(FieldErrors& errors, const std::string& path, const Value& requirement,
                            LabelValues allowed) {
  const std::string_view op = requirement["operator"].as_string();
  const Value& values = requirement["values"];
  if (is_one_of(op, {"In", "NotIn"})) {
    if (values.empty()) {
      errors.push_back(FieldError::required(
          path + ".values", "must be specified when `operator` is 'In' or 'NotIn'"));
    }
  } else if (is_one_of(op, {"Exists", "DoesNotExist"})) {
    if (!values.empty()) {
      errors.push_back(FieldError::forbidden(
          path + ".values", "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"));
    }
  } else if (is_one_of(op, {"Gt", "Lt"})) {
    if (values.size() != 1) {
      errors.push_back(FieldError::required(
          path + ".values", "must be specified single value when `operator` is 'Lt' or 'Gt'"));
    }
  } else {
    errors.push_back(
        FieldError::invalid(path + ".operator", Value(op), "not a valid selector operator"));
  }
  check_name(errors, path + ".key", requirement["key"].as_string(), &validate_label_key);
  for (std::size_t i = 0; allowed == LabelValues::Valid && i < values.size(); ++i) {
    check_name(errors, at(path + ".values", i), values[i].as_string(), &validate_label_value);
  }
}

// Of the fields of a node only the name can be asked for.
void check_field_requirement(FieldErrors& errors, const std::string& path,
                             const Value& requirement) {
  const std::string_view op = requirement["operator"].as_string();
  const Value& values = requirement["values"];
  if (!is_one_of(op, {"In", "NotIn"})) {
    errors.push_back(
        FieldError::invalid(path + ".operator", Value(op), "not a valid selector operator"));
  } else if (values.size() != 1) {
    errors.push_back(FieldError::required(
        path + ".values",
        "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"));
  }
  const std::string_view key = requirement["key"].as_string();
  if (key != "metadata.name") {
    errors.push_back(FieldError::invalid(path + ".key", key, "not a valid field selector key"));
    return;
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    check_name(errors, at(path + ".values", i), values[i].as_string(), &validate_dns1123_subdomain);
  }
}

}  // namespace

void check_node_term(FieldErrors& errors, const std::string& path, const Value& term,
                     LabelValues values) {
  const Value& expressions = term["matchExpressions"];
  for (std::size_t i = 0; i < expressions.size(); ++i) {
    check_node_requirement(errors, at(path + ".matchExpressions", i), expressions[i], values);
  }
  const Value& fields = term["matchFields"];
  for (std::size_t i = 0; i < fields.size(); ++i) {
    check_field_requirement(errors, at(path + ".matchFields", i), fields[i]);
  }
}

void check_node_selector(FieldErrors& errors, const std::string& path, const Value& selector) {
  const std::string list = below(path, "nodeSelectorTerms");
  const Value& terms = selector["nodeSelectorTerms"];
  if (terms.empty()) {
    errors.push_back(FieldError::required(list, "must have at least one node selector term"));
  }
  for (std::size_t i = 0; i < terms.size(); ++i) {
    check_node_term(errors, at(list, i), terms[i], LabelValues::Valid);
  }
}

void check_cidr(FieldErrors& errors, const std::string& path, std::string_view given) {
  const std::size_t slash = std::min(given.find('/'), given.size());
  const std::string_view address = given.substr(0, slash);
  const std::string text = (address.find(':') == std::string_view::npos ? without_zeros(address)
                                                                        : std::string(address)) +
                           std::string(given.substr(slash));
  if (!matches_format("cidr", text)) {
    errors.push_back(FieldError::invalid(
        path, given, "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"));
  }
}

void check_quantity(FieldErrors& errors, const std::string& path, const Value& quantity) {
  const auto parsed = Quantity::parse(quantity);
  if (!parsed) {
    errors.push_back(FieldError::invalid(path, quantity, "must be a quantity"));
  } else if (parsed->is_negative()) {
    errors.push_back(FieldError::invalid(path, quantity, "must be greater than or equal to 0"));
  }
}

}  // namespace athanor::apiserver
