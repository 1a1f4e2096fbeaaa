// SPDX-License-Identifier: Apache-2.0
// Emulated nodes as a system.
#pragma once

#include "runtime/view/system.hpp"

namespace athanor::nodes {

// Returns the operators of pods and nodes.
const System& system();

}  // namespace athanor::nodes
