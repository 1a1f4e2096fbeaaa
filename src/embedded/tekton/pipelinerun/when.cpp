// SPDX-License-Identifier: Apache-2.0
#include "embedded/tekton/pipelinerun/when.hpp"

#include <algorithm>

namespace athanor::tekton {

Value resolved_when(const Value& when, const Replacements& replacements) {
  static constexpr std::string_view kFields[] = {"input", "values", "cel"};
  Value list = when;
  for (std::size_t i = 0; i < when.size(); ++i) {
    substitute_members(list.item(i), kFields, replacements);
  }
  return list;
}

bool when_allows(const Value& when, cel::Conditions& conditions) {
  return std::all_of(when.items().begin(), when.items().end(), [&](const Value& expression) {
    if (const std::string_view text = expression["cel"].as_string(); !text.empty()) {
      return conditions.holds(text).value_or(false);
    }
    const std::string_view input = expression["input"].as_string();
    const auto values = expression["values"].items();
    const bool found = std::any_of(values.begin(), values.end(),
                                   [&](const Value& value) { return value.as_string() == input; });
    return expression["operator"].as_string() == "notin" ? !found : found;
  });
}

std::string when_problem(const Value& when, cel::Conditions& conditions) {
  for (const Value& expression : when.items()) {
    const std::string_view text = expression["cel"].as_string();
    if (text.empty()) {
      continue;
    }
    if (const auto value = conditions.holds(text); !value) {
      return "CEL expression " + std::string(text) + ": " + value.error().message;
    }
  }
  return {};
}

}  // namespace athanor::tekton
