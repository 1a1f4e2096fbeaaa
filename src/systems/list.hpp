// SPDX-License-Identifier: Apache-2.0
// The list of systems: the only one. To add a system, add its folder and one line in list.cpp
// (docs/architecture.md has the recipe).
#pragma once

#include "runtime/view/system.hpp"

namespace athanor {

// The systems in the order of their settings, then Athanor's stand-ins for what a cluster brings.
Systems all_systems();

}  // namespace athanor
