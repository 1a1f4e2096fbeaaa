// SPDX-License-Identifier: Apache-2.0
// The lab's scheduler and nodes with what the systems add to them.
#pragma once

#include <vector>

#include "runtime/view/operator.hpp"

namespace athanor {

// Returns operators with the names of the embedded operators that they replace.
std::vector<const Operator*> hooked_operators();

}  // namespace athanor
