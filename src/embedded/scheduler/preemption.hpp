// SPDX-License-Identifier: Apache-2.0
// Preemption: which pods of lower priority would have to go so that a pod fits.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "embedded/scheduler/node_state.hpp"
#include "runtime/view/view.hpp"

namespace athanor::scheduler {

// The node to free, and by which victims.
struct Eviction {
  std::size_t node = 0;           // index into the nodes
  std::vector<Object> victims{};  // the more important ones first
  std::size_t violations = 0;     // victims that disruption budgets would keep
};

// Whether the pod fits on a node as far as others are concerned, with these pods (by uid) gone.
using MoreChecks =
    std::function<bool(const NodeState& node, std::span<const std::string_view> leaving)>;

// Returns the node where the least is lost: the fewest victims against their disruption budgets,
// the lowest of the highest priorities of its victims, then their sum, then their number, then its
// name. `hopeless[i]`: no eviction helps on node i. nullopt: no node can be freed, or the pod may
// not preempt.
std::optional<Eviction> find_eviction(const View& view, const Candidate& candidate,
                                      const std::vector<NodeState>& nodes,
                                      const std::vector<bool>& hopeless,
                                      const MoreChecks& more = {});

// Returns true while a pod that has preempted others still waits for them to end on the node it was
// promised.
bool waits_for_victims(const Object& pod, const NodeState& promised);

}  // namespace athanor::scheduler
