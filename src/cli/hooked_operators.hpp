// SPDX-License-Identifier: Apache-2.0
// The lab's scheduler and nodes with what systems add to them.
#pragma once

#include <vector>

#include "runtime/view/operator.hpp"

namespace athanor::cli {

// They take the places of the embedded operators of the same names.
std::vector<const Operator*> hooked_operators();

}  // namespace athanor::cli
