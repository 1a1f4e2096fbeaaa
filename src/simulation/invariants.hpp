// SPDX-License-Identifier: Apache-2.0
// Rules that hold in every world. Made anew for every world: some remember what they saw.
#pragma once

#include <vector>

#include "simulation/world.hpp"

namespace athanor::sim {

// Returns the checks of every world: no orphan at rest, no object comes back under a uid that was
// deleted, or changes its own, no status is of a generation that is yet to come.
std::vector<Invariant> common_invariants();

}  // namespace athanor::sim
