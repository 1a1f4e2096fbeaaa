// SPDX-License-Identifier: Apache-2.0
#include "systems/numa/scheduling/cache.hpp"

#include <algorithm>
#include <string>

#include "api/builtin.hpp"
#include "kube/value/condition.hpp"
#include "systems/numa/model/kinds.hpp"
#include "systems/numa/scheduling/fingerprint.hpp"
#include "systems/numa/scheduling/residents.hpp"

namespace athanor::numa {
namespace {

NodeView stale() {
  return {.topology = std::nullopt, .fresh = false};
}

// Pods in the fingerprint.
std::string_view method_of(ResyncMethod resync, const NodeTopology& topology) {
  return resync == ResyncMethod::All                      ? kMethodAll
         : resync == ResyncMethod::OnlyExclusiveResources ? kMethodExclusive
                                                          : std::string_view(topology.method);
}

// Returns true if a pod of another scheduler that the object does not account keeps ours away.
bool blocks(ForeignPods detect, const PodRequest& request, const NodeTopology& topology) {
  return detect == ForeignPods::All ||
         (detect == ForeignPods::OnlyExclusiveResources && is_exclusive(request, topology));
}

// Returns true while the binding of a pod of this profile to the node is under way: the API server
// sets the condition as it binds.
bool is_reserved(const View& view, const Object& node, const Profile& profile) {
  return std::ranges::any_of(
      view.list(api::kPod, {.index = "node", .index_value = std::string(node.name())}),
      [&](const Object& pod) {
        return pod.spec()["schedulerName"].as_string() == profile.name &&
               pod.status()["phase"].as_string() == "Pending" &&
               !condition_is(pod.status()["conditions"], "PodScheduled", "True");
      });
}

// Takes the pods off that the object does not include; false: one of them keeps others away.
bool over_reserve(const View& view, const Object& node, const Profile& profile,
                  const Beliefs& beliefs, NodeTopology& topology) {
  const Residents residents =
      residents_of(view, node, topology, method_of(profile.resync, topology));
  const Trust trust{.now = beliefs.now, .unfingerprinted = profile.trust_unfingerprinted};
  for (std::size_t i = covered(topology, residents, trust); i < residents.active.size(); ++i) {
    const Resident& resident = residents.active[i];
    const bool foreign = resident.pod.spec()["schedulerName"].as_string() != profile.name;
    if (foreign && blocks(profile.foreign, resident.request, topology)) {
      return false;
    }
    subtract_everywhere(resident.request.effective, topology);
  }
  for (const PodRequest& request : beliefs.placed) {
    subtract_everywhere(request.effective, topology);
  }
  return true;
}

}  // namespace

NodeView believed(const View& view, const Object& node, const Profile& profile,
                  const Beliefs& beliefs) {
  const auto object = view.get(kTopologyKind, {"", std::string(node.name())});
  if (!object) {
    return {};
  }
  NodeTopology topology = read_topology(object->body());
  switch (profile.cache) {
    case Cache::OverReserve:
      if (!over_reserve(view, node, profile, beliefs, topology)) {
        return stale();
      }
      break;
    case Cache::Passthrough:
      break;
    case Cache::DiscardReserved:
      if (!beliefs.placed.empty() || is_reserved(view, node, profile)) {
        return stale();
      }
      break;
  }
  return {.topology = std::move(topology)};
}

bool accounts_all(const View& view, const Object& node, const NodeTopology& topology) {
  const Residents residents = residents_of(view, node, topology, topology.method);
  return covered(topology, residents, {}) == residents.active.size();
}

void subtract_everywhere(const Amounts& request, NodeTopology& topology) {
  for (Zone& zone : topology.zones) {
    for (const auto& [resource, amount] : request) {
      const auto found = zone.available.find(resource);
      if (found != zone.available.end()) {
        found->second = std::max<std::int64_t>(found->second - amount, 0);
      }
    }
  }
}

}  // namespace athanor::numa
