// SPDX-License-Identifier: Apache-2.0
// Shared GPUs in the scheduler and on emulated nodes (docs/spec/das.md 15.2).
#pragma once

#include "runtime/view/node_hooks.hpp"
#include "runtime/view/scheduling.hpp"

namespace athanor::das {

// Chooses GPUs for shares and writes their claims before the pod is bound.
const SchedulingHooks& share_scheduling();
// Takes claims into use and gives containers their environment.
const NodeHooks& share_node_hooks();

}  // namespace athanor::das
