// SPDX-License-Identifier: Apache-2.0
// Label selectors: matching, the object form, and the canonical text. Parsing of texts:
// selector_parse.cpp.
#include "kube/names/selector.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

#include "kube/names/selector_requirement.hpp"

namespace athanor {
namespace {

using Operator = LabelRequirement::Operator;

bool contains(const std::vector<std::string>& values, std::string_view value) {
  return std::ranges::find(values, value) != values.end();
}

bool holds(const LabelRequirement& requirement, const Value* label) {
  const std::string_view value = label == nullptr ? "" : label->as_string();
  switch (requirement.op) {
    case Operator::Exists:
      return label != nullptr;
    case Operator::NotExists:
      return label == nullptr;
    case Operator::In:
      return label != nullptr && contains(requirement.values, value);
    case Operator::NotIn:
      return label == nullptr || !contains(requirement.values, value);
    case Operator::GreaterThan:
    case Operator::LessThan:
      break;
  }
  if (label == nullptr || requirement.values.empty()) {
    return false;
  }
  const auto left = parse_label_integer(value);
  const auto right = parse_label_integer(requirement.values.front());
  if (!left || !right) {
    return false;
  }
  return requirement.op == Operator::GreaterThan ? *left > *right : *left < *right;
}

std::string joined(std::vector<std::string> values) {
  std::ranges::sort(values);
  std::string text;
  for (const std::string& value : values) {
    text += text.empty() && &value == &values.front() ? "" : ",";
    text += value;
  }
  return text;
}

std::string requirement_text(const LabelRequirement& requirement) {
  const std::string& key = requirement.key;
  const auto& values = requirement.values;
  switch (requirement.op) {
    case Operator::Exists:
      return key;
    case Operator::NotExists:
      return "!" + key;
    case Operator::In:
      return values.size() == 1 ? key + "=" + values[0] : key + " in (" + joined(values) + ")";
    case Operator::NotIn:
      return values.size() == 1 ? key + "!=" + values[0] : key + " notin (" + joined(values) + ")";
    case Operator::GreaterThan:
      return key + ">" + joined(values);
    case Operator::LessThan:
      return key + "<" + joined(values);
  }
  return key;
}

Result<LabelRequirement> read_expression(const Value& expression) {
  LabelRequirement requirement{.key = expression["key"].str()};
  for (const Value& value : expression["values"].items()) {
    requirement.values.push_back(value.str());
  }
  const std::string_view op = expression["operator"].as_string();
  if (op == "In") {
    requirement.op = Operator::In;
  } else if (op == "NotIn") {
    requirement.op = Operator::NotIn;
  } else if (op == "Exists") {
    requirement.op = Operator::Exists;
  } else if (op == "DoesNotExist") {
    requirement.op = Operator::NotExists;
  } else {
    return Error::bad_request("\"" + std::string(op) + "\" is not a valid label selector operator");
  }
  ATHANOR_TRY_VOID(check_requirement(requirement));
  return requirement;
}

}  // namespace

std::optional<std::int64_t> parse_label_integer(std::string_view text) {
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') {
    text.remove_prefix(1);
  }
  std::int64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, number);
  return result.ec == std::errc() && result.ptr == end ? std::optional(number) : std::nullopt;
}

Result<LabelSelector> LabelSelector::from_value(const Value& selector) {
  LabelSelector result;
  if (selector.is_null()) {
    result.nothing_ = true;
    return result;
  }
  for (const Member& member : selector["matchLabels"].members()) {
    LabelRequirement requirement{
        .key = std::string(member.key()), .op = Operator::In, .values = {member.value.str()}};
    ATHANOR_TRY_VOID(check_requirement(requirement));
    result.add(std::move(requirement));
  }
  for (const Value& expression : selector["matchExpressions"].items()) {
    ATHANOR_TRY(LabelRequirement requirement, read_expression(expression));
    result.add(std::move(requirement));
  }
  std::ranges::stable_sort(result.requirements_, {}, &LabelRequirement::key);
  return result;
}

LabelSelector LabelSelector::equals(std::string_view key, std::string_view value) {
  LabelSelector result;
  result.add({.key = std::string(key), .op = Operator::In, .values = {std::string(value)}});
  return result;
}

bool LabelSelector::matches(const Value& labels) const {
  return !nothing_ && std::ranges::all_of(requirements_, [&](const LabelRequirement& requirement) {
    return holds(requirement, labels.find(requirement.key));
  });
}

std::string LabelSelector::text() const {
  std::string text;
  for (const LabelRequirement& requirement : requirements_) {
    text += text.empty() ? "" : ",";
    text += requirement_text(requirement);
  }
  return text;
}

}  // namespace athanor
