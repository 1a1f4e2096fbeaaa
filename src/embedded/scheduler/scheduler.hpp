// SPDX-License-Identifier: Apache-2.0
// The scheduler of the embedded control plane: gives pending pods a node, in the manner (and with
// the words) of kube-scheduler.
#pragma once

#include "runtime/view/operator.hpp"

namespace athanor::scheduler {

// Pods without a node, without gates, of `default-scheduler`: by priority, then age, then name.
// One run binds many; it looks at nothing but nodes when no pod waits. Filters: taints, node
// affinity, resources, topology spread, pod affinity and anti-affinity. A pod that fits nowhere
// preempts pods of lower priority.
const Operator& scheduler_operator();

}  // namespace athanor::scheduler
