// SPDX-License-Identifier: Apache-2.0
// What becomes of nodes that fall silent, and of the pods on them.
#pragma once

#include "base/time.hpp"
#include "runtime/view/operator.hpp"

namespace athanor::workloads {

// A node whose lease (kube-node-lease) and status are older than this is not heard of any more.
inline constexpr Duration kNodeGrace = std::chrono::seconds(50);

// Conditions Unknown and taints of nodes that fell silent; taints from conditions; pods of nodes
// that are not ready become unready. A node without any time (no lease, no heartbeat) is
// taken at its word.
const Operator& node_lifecycle_operator();
// Deletes pods that do not, or no longer, tolerate the NoExecute taints of their node.
const Operator& taint_eviction_operator();
// Deletes pods of nodes that are gone, and pods that are deleted before they had a node.
const Operator& pod_garbage_operator();
// Deletes the oldest ended pods when there are too many.
const Operator& terminated_pods_operator();

}  // namespace athanor::workloads
