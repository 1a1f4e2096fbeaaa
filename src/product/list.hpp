// SPDX-License-Identifier: Apache-2.0
// The list of systems: the only one. To add a system, add its folder and one line in list.cpp
// (docs/architecture.md has the recipe).
#pragma once

#include "runtime/view/system.hpp"

namespace athanor {

// Returns the systems in the order of their settings, then Athanor's stand-ins for a cluster's own.
Systems all_systems();

}  // namespace athanor
