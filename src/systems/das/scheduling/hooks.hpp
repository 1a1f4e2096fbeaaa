// SPDX-License-Identifier: Apache-2.0
// All scheduling hooks of DAS: slices, and shares of GPUs.
#pragma once

#include <span>

#include "runtime/view/scheduling.hpp"

namespace athanor::das {

// Returns the hooks in the order in which schedulers run them.
std::span<const SchedulingHooks* const> das_scheduling();

}  // namespace athanor::das
