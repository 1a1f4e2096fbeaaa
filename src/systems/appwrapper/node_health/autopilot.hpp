// SPDX-License-Identifier: Apache-2.0
// Autopilot: keeps pods away from nodes whose labels report unhealthy resources
// (docs/spec/appwrapper.md 7). Pure.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/time.hpp"
#include "kube/text/quantity.hpp"
#include "kube/value/object.hpp"
#include "kube/value/value.hpp"
#include "runtime/view/view.hpp"
#include "systems/appwrapper/model/settings.hpp"

namespace athanor::appwrapper {

// Adds the anti-affinities of 7.2 to a pod spec that requests one of the resources. A malformed
// affinity is left alone.
void add_anti_affinities(Value& pod_spec, const Autopilot& autopilot);

// Returns the nodes on which a running pod uses a resource marked NoExecute (7.3), by name.
std::set<std::string> nodes_to_leave(const View& view, const std::vector<Object>& running_pods,
                                     const Autopilot& autopilot);

// Unreachable nodes that their pods must leave (B-18).
struct Unreachable {
  std::set<std::string> nodes{};  // for longer than the grace
  std::optional<Instant> next{};  // when the next one has been so for that long
};
// Returns the nodes of `running_pods` that are unreachable.
Unreachable unreachable_nodes(const View& view, const std::vector<Object>& running_pods,
                              Duration grace, Instant now);

// Returns how much of each resource no pod can get on these nodes: what is on unschedulable nodes,
// and what labels report as not to be scheduled (the NoSchedule table of 7.3).
std::map<std::string, Quantity> unusable_resources(const std::vector<Object>& nodes,
                                                   const Autopilot& autopilot);

}  // namespace athanor::appwrapper
