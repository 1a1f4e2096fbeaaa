// SPDX-License-Identifier: Apache-2.0
// AppWrapper as a system: groups of resources queued and repaired as one
// (docs/spec/appwrapper.md).
#pragma once

#include "runtime/view/system.hpp"

namespace athanor::appwrapper {

// Returns the system with its kind, operators and webhooks.
const System& system();

// Returns the stand-in for Kueue's built-in integration of AppWrappers: their Workloads and Kueue's
// webhooks for the kind. A stand-in, so that in production nothing competes with Kueue's own.
const System& kueue_system();

}  // namespace athanor::appwrapper
