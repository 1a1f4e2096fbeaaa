// SPDX-License-Identifier: Apache-2.0
// The pods of a node beside its NodeResourceTopology: which of them the object accounts already
// (docs/spec/numa.md 11.6, 11.7).
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/time.hpp"
#include "kube/value/object.hpp"
#include "runtime/view/view.hpp"
#include "systems/numa/scheduling/pod_request.hpp"
#include "systems/numa/scheduling/topology.hpp"

namespace athanor::numa {

// A pod that is bound to the node.
struct Resident {
  Object pod{};
  PodRequest request{};
};

// Pods of one node by whether they still run.
struct Residents {
  // Pods bound first in front; without a fingerprint, pods that the zones do not account last.
  std::vector<Resident> active{};
  std::vector<Resident> ended{};  // old kubelets still list them
};
// Returns the pods that count by this method of fingerprints.
Residents residents_of(const View& view, const Object& node, const NodeTopology& topology,
                       std::string_view method);

// Rules for comparing pods with a NodeResourceTopology.
struct Trust {
  // Distinguishes a young pod from an earlier one of the same name; nullopt: treats them as one.
  std::optional<Instant> now{};
  bool unfingerprinted = false;
};
// Returns the pods of the topology's node that its fingerprint is to be of: those that have not
// ended, by its method.
std::vector<Key> fingerprinted(std::span<const Object> pods, const NodeTopology& topology);
// Returns how many of the active pods the object accounts: all but the newest. 0 where nothing
// matches: then all of them count once more, and nothing is given twice. An object without
// fingerprint is compared by the cpus and the memory that its zones have given away.
std::size_t covered(const NodeTopology& topology, const Residents& residents, const Trust& trust);

}  // namespace athanor::numa
