// SPDX-License-Identifier: Apache-2.0
// Conditions of Tekton's when expressions: expressions without variables of their own, since
// variables $(...) are replaced before.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"

namespace athanor::cel {

// Returns what the compiler says against an expression; empty: nothing.
std::string condition_errors(std::string_view expression);
// Evaluates an expression within the limits of one call. Errors: it does not compile, fails, or is
// neither true nor false.
Result<bool> evaluate_condition(std::string_view expression);

}  // namespace athanor::cel
