// SPDX-License-Identifier: Apache-2.0
// Reading and refusing values.
#include "base/environment.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/ascii.hpp"

namespace athanor {
namespace {

template <class Number>
std::optional<Number> parse_number(const std::string& text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(number)
                                                                  : std::nullopt;
}

// "a, b or c".
std::string alternatives(std::initializer_list<std::string_view> choices) {
  std::string text;
  for (const std::string_view& choice : choices) {
    const bool last = &choice == choices.end() - 1;
    text += fmt::format("{}{}", text.empty() ? "" : last ? " or " : ", ", choice);
  }
  return text;
}

}  // namespace

Error refuse_setting(std::string_view name, std::string_view value, std::string_view rule) {
  return {.code = 400,
          .reason = "InvalidSetting",
          .message = fmt::format("ERROR: {}={}: {}", name, value, rule)};
}

Environment::Environment(const std::map<std::string, std::string>& variables) {
  for (const auto& [name, value] : variables) {
    variables_[lower(name)] = value;
  }
}

const std::string* Environment::given(std::string_view name) const {
  const auto at = variables_.find(lower(name));
  return at == variables_.end() ? nullptr : &at->second;
}

const std::string* Environment::find(std::string_view name) const {
  const std::string* value = given(name);
  return value == nullptr || value->empty() ? nullptr : value;
}

void Environment::text(std::string_view name, std::string& into) const {
  if (const std::string* value = find(name)) {
    into = *value;
  }
}

Result<void> Environment::choice(std::string_view name,
                                 std::initializer_list<std::string_view> choices,
                                 std::string& into) const {
  text(name, into);
  if (std::ranges::find(choices, std::string_view(into)) == choices.end()) {
    return refuse_setting(name, into, "must be " + alternatives(choices));
  }
  return {};
}

Result<void> Environment::seconds(std::string_view name, double& into) const {
  if (const std::string* text = given(name)) {
    const auto number = parse_number<double>(*text);
    if (!number || !(*number > 0) || *number > kMostSeconds) {
      return refuse_setting(name, *text, "must be a number of seconds greater than 0");
    }
    into = *number;
  }
  return {};
}

Result<void> Environment::whole(std::string_view name, std::int64_t most, std::string_view rule,
                                std::int64_t& into) const {
  if (const std::string* text = given(name)) {
    const auto number = parse_number<std::int64_t>(*text);
    if (!number || *number < 1 || *number > most) {
      return refuse_setting(name, *text, rule);
    }
    into = *number;
  }
  return {};
}

}  // namespace athanor
