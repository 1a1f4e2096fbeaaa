// SPDX-License-Identifier: Apache-2.0
// Autopilot: keeps pods away from nodes whose labels report unhealthy resources
// (docs/spec/appwrapper.md 7). Pure.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "kube/value/object.hpp"
#include "kube/value/value.hpp"
#include "runtime/view/view.hpp"
#include "systems/appwrapper/settings.hpp"

namespace athanor::appwrapper {

// Adds the anti-affinities of 7.2 to a pod spec that requests one of the resources. A malformed
// affinity is left alone.
void add_anti_affinities(Value& pod_spec, const Autopilot& autopilot);

// Returns the nodes on which a running pod uses a resource marked NoExecute (7.3), by name.
std::set<std::string> nodes_to_leave(const View& view, const std::vector<Object>& running_pods,
                                     const Autopilot& autopilot);

}  // namespace athanor::appwrapper
