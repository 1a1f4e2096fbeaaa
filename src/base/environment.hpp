// SPDX-License-Identifier: Apache-2.0
// Settings from environment variables: names in any case, values checked, refusals that name the
// variable and the bound.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace athanor {

// Returns the error "ERROR: NAME=VALUE: RULE", to be printed before a non-zero exit.
Error refuse_setting(std::string_view name, std::string_view value, std::string_view rule);

// Each reader leaves `into` as it is when the variable is not set.
class Environment {
 public:
  explicit Environment(const std::map<std::string, std::string>& variables);

  // Returns the variable's value, which may be empty; nullptr when it is absent.
  [[nodiscard]] const std::string* given(std::string_view name) const;
  // Returns the variable's value; nullptr when it is absent or empty.
  [[nodiscard]] const std::string* find(std::string_view name) const;

  // Sets `into` to the variable's value; an empty value counts as absent.
  void text(std::string_view name, std::string& into) const;
  // Sets `into` as text() does. Errors: it is then none of `choices` ("must be a, b or c").
  [[nodiscard]] Result<void> choice(std::string_view name,
                                    std::initializer_list<std::string_view> choices,
                                    std::string& into) const;
  // Seconds with a fraction, above 0 and at most a year; an empty text is refused.
  [[nodiscard]] Result<void> seconds(std::string_view name, double& into) const;
  // Sets `into` to a number from 1 to `most`. Errors: any other text, also an empty one (`rule`).
  [[nodiscard]] Result<void> whole(std::string_view name, std::int64_t most, std::string_view rule,
                                   std::int64_t& into) const;

  // A longer pause than a year is a slip of the pen; the limit keeps durations in range.
  static constexpr double kMostSeconds = 366.0 * 24 * 3600;

 private:
  std::map<std::string, std::string> variables_{};  // by lower-case name
};

}  // namespace athanor
