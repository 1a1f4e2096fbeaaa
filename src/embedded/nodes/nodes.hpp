// SPDX-License-Identifier: Apache-2.0
// The operators of emulated nodes.
#pragma once

#include "runtime/view/operator.hpp"

namespace athanor::nodes {

// Nodes with this label are run by this process.
inline constexpr const char* kEmulatedLabel = "athanor.dev/emulated";
// What an emulated node has, as JSON of resource names and quantities; its kubelet reports it.
inline constexpr const char* kCapacityAnnotation = "athanor.dev/capacity";

// One pod bound to an emulated node: started, watched, reported, stopped.
const Operator& kubelet_operator();
// An emulated node itself: capacity, readiness, taints.
const Operator& node_operator();

}  // namespace athanor::nodes
