// SPDX-License-Identifier: Apache-2.0
// A scheduler's knowledge of the zones of its nodes, by the cache of its profile (docs/spec/numa.md
// 11.6). Nothing is kept between cycles: the view has the objects and the pods, and each call
// compares them anew.
#pragma once

#include <optional>
#include <vector>

#include "base/time.hpp"
#include "kube/value/object.hpp"
#include "runtime/view/view.hpp"
#include "systems/numa/scheduling/pod_request.hpp"
#include "systems/numa/scheduling/profile.hpp"
#include "systems/numa/scheduling/topology.hpp"

namespace athanor::numa {

// Knowledge of one node. Data that are not fresh are not used.
struct NodeView {
  std::optional<NodeTopology> topology{};
  bool fresh = true;
};

// Knowledge besides the view.
struct Beliefs {
  std::vector<PodRequest> placed{};  // of pods that the view does not show on the node yet
  std::optional<Instant> now{};      // nullopt: how old things are does not matter
};
// Returns the scheduler's assumed state of a node.
NodeView believed(const View& view, const Object& node, const Profile& profile,
                  const Beliefs& beliefs);

// Returns true if the node's object accounts every pod on it that it should.
bool accounts_all(const View& view, const Object& node, const NodeTopology& topology);

// Returns `topology` less the request in every zone: deliberately pessimistic.
void subtract_everywhere(const Amounts& request, NodeTopology& topology);

}  // namespace athanor::numa
