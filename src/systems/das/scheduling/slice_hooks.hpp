// SPDX-License-Identifier: Apache-2.0
// The scheduler's part of DAS: MigAccelerator as hooks (docs/spec/das.md 6).
#pragma once

#include "runtime/view/scheduling.hpp"

namespace athanor::das {

// Returns the hooks that filter and score nodes and place slices.
const SchedulingHooks& mig_scheduling();

}  // namespace athanor::das
