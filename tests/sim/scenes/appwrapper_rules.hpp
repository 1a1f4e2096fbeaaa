// SPDX-License-Identifier: Apache-2.0
// What holds of AppWrappers whatever goes wrong (docs/spec/appwrapper.md 6.4).
#pragma once

#include <vector>

#include "simulation/world.hpp"

namespace athanor::sim {

// Quota is held exactly while objects may exist; no object exists twice; resets stay within the
// limit; a terminal AppWrapper never runs again; none rests in a phase that has to be left.
std::vector<Invariant> appwrapper_invariants();

}  // namespace athanor::sim
