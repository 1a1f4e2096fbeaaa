// SPDX-License-Identifier: Apache-2.0
// DRA: publishes devices as ResourceSlices, and mirrors allocated ones as AllocationClaims
// (docs/spec/das.md 15.1).
#pragma once

#include "runtime/view/node_hooks.hpp"
#include "runtime/view/operator.hpp"

namespace athanor::das {

// ResourceSlices of every emulated node, of the GPUs that belong to DRA.
const Operator& publisher_operator();
// ResourceSlices of the agent's own node, of its GPUs that belong to DRA.
const Operator& found_publisher_operator();
// DeviceClasses of the profiles that nodes offer.
const Operator& classes_operator();
// Makes one AllocationClaim for each allocated device of the emulated driver.
const Operator& mirror_operator();
// Gives containers their devices once the mirrors are there.
const NodeHooks& dra_node_hooks();

// Returns true if the operator is one of these.
bool is_dra(const Operator& op);

}  // namespace athanor::das
