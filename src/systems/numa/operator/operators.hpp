// SPDX-License-Identifier: Apache-2.0
// The operators of the NUMA stack (docs/spec/numa.md 6 to 8). Settings come from
// view.config("numa"), see settings.hpp.
#pragma once

#include <span>

#include "runtime/view/operator.hpp"

namespace athanor::numa {

// Handles one NUMAResourcesOperator: an exporter for each pool.
const Operator& exporter_operator();
// Handles one KubeletConfig: the exporter's ConfigMap of its pool.
const Operator& kubelet_config_operator();
// Handles all ConfigMaps that hold KubeletConfigs, on a hosted control plane.
const Operator& hosted_kubelet_config_operator();
// Handles one NUMAResourcesScheduler: the secondary scheduler.
const Operator& scheduler_operator();

// Returns all operators of the NUMA stack.
std::span<const Operator* const> numa_operators();

// Annotation: with value "enabled" the object is not reconciled (docs/spec/numa.md 2.4).
inline constexpr const char* kPauseReconciliation =
    "config.numa-operator.openshift.io/pause-reconciliation";

}  // namespace athanor::numa
