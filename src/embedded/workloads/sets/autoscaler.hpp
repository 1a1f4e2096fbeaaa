// SPDX-License-Identifier: Apache-2.0
// The HorizontalPodAutoscaler controller of a cluster without a metrics API.
#pragma once

#include "runtime/view/operator.hpp"

namespace athanor::workloads {

// Keeps targets within minReplicas and maxReplicas; says of every metric that it cannot be fetched,
// in the words of kube-controller-manager.
const Operator& autoscaler_operator();

}  // namespace athanor::workloads
