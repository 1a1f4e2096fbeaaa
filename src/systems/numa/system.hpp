// SPDX-License-Identifier: Apache-2.0
// The NUMA stack as a system: zones accounted, pods placed where they fit (docs/spec/numa.md).
#pragma once

#include "runtime/view/system.hpp"

namespace athanor::numa {

// Returns the system with the operators, the scheduler plugin and the command.
const System& system();

// Returns the stand-ins, on a laptop, for the operands and for OpenShift's machine configuration
// (docs/spec/numa.md 16).
const System& emulation_system();

}  // namespace athanor::numa
