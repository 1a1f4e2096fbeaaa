// SPDX-License-Identifier: Apache-2.0
// A matchCondition of a webhook or a policy, compiled (docs/spec/apiserver.md 15.2).
#pragma once

#include <string>
#include <vector>

#include "cel/program.hpp"

namespace athanor::apiserver {

// One named condition; `program` is null when it does not compile.
struct Condition {
  std::string name{};
  std::string expression{};
  cel::Program::Ptr program{};
  std::string error{};
};
using Conditions = std::vector<Condition>;

}  // namespace athanor::apiserver
