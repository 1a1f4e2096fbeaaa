// SPDX-License-Identifier: Apache-2.0
// Podresources API of an emulated node, with its hardware (docs/spec/numa.md
// 16.5): its profile and its pods' allocations in the exporter's words.
#pragma once

#include <vector>

#include "kube/value/object.hpp"
#include "runtime/view/node_hooks.hpp"
#include "runtime/view/view.hpp"
#include "systems/numa/emulation/node_profile.hpp"
#include "systems/numa/exporter/hardware.hpp"
#include "systems/numa/exporter/podresources.hpp"

namespace athanor::numa {

// Returns the zones' cpus (reserved ones included), memory in bytes and distances, as sysfs shows
// them.
Hardware hardware_of(const NodeProfile& profile);
// Returns the answer of GetAllocatableResources.
AllocatableResources allocatable_of(const NodeProfile& profile);

// Returns the answer of List: the node's pods with containers and restartable init containers.
std::vector<PodResources> pod_resources_of(const View& view, const Object& node,
                                           const NodeProfile& profile);

// Returns the podresources socket of nodes with zones: List, GetAllocatableResources, Get (9.4).
NodeSocket podresources_socket();

}  // namespace athanor::numa
