// SPDX-License-Identifier: Apache-2.0
// Upstream's operator as a process: its flags and what follows from them (docs/spec/numa.md 5.1).
#pragma once

#include "runtime/view/process.hpp"

namespace athanor::numa {

// Returns the description of the operator's process.
const Process& operator_process();

}  // namespace athanor::numa
