// SPDX-License-Identifier: Apache-2.0
// The lab's scheduler and nodes with what the systems add to them.
#pragma once

#include <vector>

#include "runtime/view/operator.hpp"

namespace athanor {

// Returns operators with the names of the embedded operators that they replace.
std::vector<const Operator*> hooked_operators();
// Puts the operators of hooked_operators() in the place of those among `operators` that they
// replace.
std::vector<const Operator*> with_hooks(std::vector<const Operator*> operators);
// Returns the kinds that only the additions of systems to these operators use, none of them itself:
// a cluster without these systems lacks them.
std::vector<const Kind*> kinds_of_hooks(const std::vector<const Operator*>& operators);

}  // namespace athanor
