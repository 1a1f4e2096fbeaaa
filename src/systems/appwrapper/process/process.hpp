// SPDX-License-Identifier: Apache-2.0
// Upstream's operator as a process: its ConfigMap, flags of both generations, and what follows from
// them (docs/spec/appwrapper.md 8.1 to 8.3).
#pragma once

#include "runtime/view/process.hpp"

namespace athanor::appwrapper {

// Returns the description of the operator's process.
const Process& operator_process();

}  // namespace athanor::appwrapper
