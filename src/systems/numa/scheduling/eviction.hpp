// SPDX-License-Identifier: Apache-2.0
// A node's zones without some of its pods (docs/spec/numa.md 11.8): preemption asks
// before it evicts.
#pragma once

#include <map>
#include <span>
#include <string>

#include "base/result.hpp"
#include "systems/numa/scheduling/placement_codec.hpp"
#include "systems/numa/scheduling/pod_request.hpp"
#include "systems/numa/scheduling/topology.hpp"

namespace athanor::numa {

// A pod that preemption would evict.
struct Victim {
  Key key{};
  PodRequest request{};
};

// Returns the topology with the victims' exclusive resources given back. `placement`: the node's
// containers; empty: nothing is known, and the topology stays as it is.
Result<NodeTopology> simulate_eviction(const NodeTopology& topology,
                                       std::span<const Victim> victims,
                                       const std::map<ContainerName, int>& placement);

}  // namespace athanor::numa
