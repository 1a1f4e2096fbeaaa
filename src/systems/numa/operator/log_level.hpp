// SPDX-License-Identifier: Apache-2.0
// logLevel of the two kinds where the process itself does the operands' work (docs/spec/numa.md
// 2.1, 3.1, 16.6).
#pragma once

#include <string_view>

#include "kube/value/object.hpp"
#include "runtime/view/plan.hpp"

namespace athanor::numa {

// Has the process log as the object's logLevel says, once for each change.
void take_log_level(const Object& object, Plan& plan);

}  // namespace athanor::numa
