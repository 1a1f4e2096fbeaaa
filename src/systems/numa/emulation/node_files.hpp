// SPDX-License-Identifier: Apache-2.0
// Files of a node for an exporter beside an emulated node (docs/spec/numa.md 9.5, 16.4):
// its part of sysfs, and its kubelet's configuration.
#pragma once

#include <vector>

#include "kube/value/object.hpp"
#include "runtime/view/node_hooks.hpp"

namespace athanor::numa {

// Returns the files; none where the node has no zones.
std::vector<NodeFile> files_of(const Object& node);

}  // namespace athanor::numa
