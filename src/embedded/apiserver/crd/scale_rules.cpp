// SPDX-License-Identifier: Apache-2.0
#include "embedded/apiserver/crd/scale_rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "kube/text/json.hpp"

namespace athanor::apiserver {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();

// As the reference prints values of no known type.
std::string go_text(const Value& value) {
  if (value.is_null()) {
    return "<nil>";
  }
  if (value.is_string()) {
    return value.str();
  }
  if (value.is_list()) {
    std::string text;
    for (const Value& item : value.items()) {
      text += (text.empty() ? "" : " ") + go_text(item);
    }
    return fmt::format("[{}]", text);
  }
  if (!value.is_object()) {
    return json::print(value);
  }
  std::vector<const Member*> sorted;
  for (const Member& member : value.members()) {
    sorted.push_back(&member);
  }
  std::ranges::sort(sorted, {}, [](const Member* member) { return member->key(); });
  std::string text;
  for (const Member* member : sorted) {
    text += fmt::format("{}{}:{}", text.empty() ? "" : " ", member->key(), go_text(member->value));
  }
  return fmt::format("map[{}]", text);
}

std::string_view go_type(const Value& value) {
  switch (value.type()) {
    case Value::Type::Null:
      return "<nil>";
    case Value::Type::Bool:
      return "bool";
    case Value::Type::Int:
    case Value::Type::Uint:
      return "int64";
    case Value::Type::Double:
      return "float64";
    case Value::Type::String:
      return "string";
    case Value::Type::List:
      return "[]interface {}";
    case Value::Type::Object:
      return "map[string]interface {}";
  }
  return "<nil>";
}

void check_replicas(std::vector<FieldError>& errors, const Value& object,
                    const std::string& json_path) {
  const auto inaccessible = [&](const std::string& where, const Value& value,
                                std::string_view wanted) {
    errors.push_back(
        FieldError::invalid(json_path, Value(0),
                            fmt::format("{} accessor error: {} is of the type {}, expected {}",
                                        where, go_text(value), go_type(value), wanted)));
  };
  const Value* value = &object;
  std::string where;
  for (const std::string& step : scale_path(json_path)) {
    where += "." + step;
    if (value->is_null()) {
      return;
    }
    if (!value->is_object()) {
      inaccessible(where, *value, "map[string]interface{}");
      return;
    }
    value = value->find(step);
    if (value == nullptr) {
      return;
    }
  }
  if (!value->is_integer()) {
    inaccessible(where, *value, "int64");
  } else if (value->as_int() < 0) {
    errors.push_back(FieldError::invalid(json_path, *value, "should be a non-negative integer"));
  } else if (value->as_int() > kMost) {
    errors.push_back(FieldError::invalid(json_path, *value,
                                         fmt::format("should be less than or equal to {}", kMost)));
  }
}

}  // namespace

std::vector<std::string> scale_path(std::string_view json_path) {
  std::vector<std::string> parts;
  while (!json_path.empty()) {
    const std::size_t end = std::min(json_path.find('.'), json_path.size());
    if (end > 0) {
      parts.emplace_back(json_path.substr(0, end));
    }
    json_path.remove_prefix(std::min(end + 1, json_path.size()));
  }
  return parts;
}

std::vector<FieldError> validate_scale_fields(const ResourceInfo& resource, const Value& object,
                                              bool status_only) {
  std::vector<FieldError> errors;
  if (resource.scale) {
    if (!status_only) {
      check_replicas(errors, object, resource.scale->spec_replicas);
    }
    check_replicas(errors, object, resource.scale->status_replicas);
  }
  return errors;
}

}  // namespace athanor::apiserver
