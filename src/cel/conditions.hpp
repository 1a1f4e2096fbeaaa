// SPDX-License-Identifier: Apache-2.0
// Conditions of Tekton's when expressions: expressions without variables of their own, since
// variables $(...) are replaced before.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace athanor::cel {

// Returns what the compiler says against an expression; empty: nothing.
std::string condition_errors(std::string_view expression);

// Evaluates the conditions of one object. Users write them, so all together may cost 10 ms.
class Conditions {
 public:
  // Returns the condition's value; each text is evaluated once. Errors: it is no expression, has no
  // value, its value is neither true nor false, or all conditions together cost too much.
  Result<bool> holds(std::string_view expression);

 private:
  Result<bool> evaluate(std::string_view expression);

  std::uint64_t left_ = 200'000;  // units of 50 ns
  std::map<std::string, Result<bool>, std::less<>> known_{};
};

}  // namespace athanor::cel
