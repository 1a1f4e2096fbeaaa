// SPDX-License-Identifier: Apache-2.0
// Errors of wrong usage of a verb: a missing, impossible or unsupported value. The command line
// ends with exit code 2.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "base/result.hpp"

namespace athanor {

// Reason of such an error.
inline constexpr std::string_view kWrongUsage = "WrongUsage";

// Returns an error that says how a verb was used wrongly.
inline Error wrong_usage(std::string message) {
  return {.code = 400, .reason = std::string(kWrongUsage), .message = std::move(message)};
}

}  // namespace athanor
