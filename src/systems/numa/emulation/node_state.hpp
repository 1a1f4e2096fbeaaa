// SPDX-License-Identifier: Apache-2.0
// State of an emulated node's NUMA managers, and its use by its kubelet and its exporter
// (docs/spec/numa.md 16.5, 16.6).
#pragma once

#include <map>
#include <string>

#include "kube/value/object.hpp"
#include "runtime/view/node_hooks.hpp"
#include "runtime/view/operator.hpp"
#include "systems/numa/emulation/kubelet_managers.hpp"

namespace athanor::numa {

// Annotation of an emulated node: what its pods have, by uid, as a kubelet's checkpoint.
inline constexpr const char* kAllocationsAnnotation = "athanor.dev/numa-allocations";

// Returns the allocations of the node's pods that still run there, by uid.
std::map<std::string, PodAllocation> allocations_of(const View& view, const Object& node);

// Provides the kubelet's part: zones as capacity, and admission.
const NodeHooks& numa_node_hooks();
// Emulates the exporter: a NodeResourceTopology for each emulated node with an exporter's pod.
const Operator& exporter_emulation();
// MachineConfigPools without OpenShift: status alone (16.2).
const Operator& machine_config_emulation();
// KubeletConfigs without OpenShift: status alone.
const Operator& kubelet_config_emulation();

}  // namespace athanor::numa
