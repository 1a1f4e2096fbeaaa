// SPDX-License-Identifier: Apache-2.0
// The HorizontalPodAutoscaler controller: bounds alone, without metrics.
#pragma once

#include "runtime/view/operator.hpp"

namespace athanor::workloads {

// Keeps targets within minReplicas and maxReplicas; says of every metric that it is not
// read, with the conditions and events of kube-controller-manager.
const Operator& autoscaler_operator();

}  // namespace athanor::workloads
