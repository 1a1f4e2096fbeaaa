// SPDX-License-Identifier: Apache-2.0
// NodeResourceTopologyMatch in the lab's scheduler and in the extender (docs/spec/numa.md 11).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/view/scheduling.hpp"
#include "systems/numa/scheduling/cache.hpp"
#include "systems/numa/scheduling/placement_codec.hpp"

namespace athanor::numa {

// Returns the zone of each container that the node's object places; empty where it does not say, or
// is not readable.
std::map<ContainerName, int> placement_on(const View& view, const Object& node);

// Reason for a node without NodeResourceTopology where the profile requires one.
inline constexpr const char* kNoTopology = "no topology data";

// Returns the reason against a node whose zones are not known or not used; nullopt: the pod passes.
std::optional<std::string> refusal_without_zones(const PodRequest& pod, const NodeView& known,
                                                 const Profile& profile);

// Returns the plugin's hooks in the lab's scheduler.
const SchedulingHooks& numa_scheduling();

}  // namespace athanor::numa
