// SPDX-License-Identifier: Apache-2.0
// What an emulated kubelet does about ResourceClaims.
#pragma once

#include "runtime/view/node_hooks.hpp"

namespace athanor::devices {

// Returns the hooks: a pod starts once all its claims are allocated and reserved for it.
const NodeHooks& device_node_hooks();

}  // namespace athanor::devices
