// SPDX-License-Identifier: Apache-2.0
// Kueue-compatible queueing as a system, for labs and clusters without Kueue (docs/spec/kueue.md).
#pragma once

#include "runtime/view/system.hpp"

namespace athanor::kueue {

// Returns the kinds, operators, webhooks, settings and metrics of system "kueue".
const System& system();

}  // namespace athanor::kueue
