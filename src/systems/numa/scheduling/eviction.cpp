// SPDX-License-Identifier: Apache-2.0
// Simulated evictions.
#include "systems/numa/scheduling/eviction.hpp"

#include <algorithm>

namespace athanor::numa {
namespace {

Error impossible(const char* cause) {
  return Error::conflict(std::string("eviction simulation in NRT is not possible:") + cause);
}

bool is_given_back(const std::string& resource, std::int64_t amount, bool guaranteed) {
  if (amount <= 0) {
    return false;
  }
  if (!is_native(resource)) {
    return true;
  }
  return guaranteed && is_numa_affine(resource) && (resource != "cpu" || amount % kUnit == 0);
}

}  // namespace

Result<NodeTopology> simulate_eviction(const NodeTopology& topology,
                                       std::span<const Victim> victims,
                                       const std::map<ContainerName, int>& placement) {
  if (victims.empty() || placement.empty()) {
    return topology;
  }
  NodeTopology simulated = topology;
  bool any = false;
  for (const Victim& victim : victims) {
    if (!victim.request.guaranteed && !victim.request.non_native) {
      continue;
    }
    for (const ContainerRequest& container : victim.request.containers) {
      if (container.role != ContainerRequest::Role::App) {
        continue;
      }
      const auto place = placement.find({victim.key.ns, victim.key.name, container.name});
      if (place == placement.end()) {
        continue;
      }
      const auto zone = std::ranges::find_if(
          simulated.zones, [&](const Zone& candidate) { return candidate.id == place->second; });
      if (zone == simulated.zones.end()) {
        return impossible("unknown NUMA node");
      }
      for (const auto& [resource, amount] : container.requests) {
        const auto found = zone->available.find(resource);
        if (!is_given_back(resource, amount, victim.request.guaranteed) ||
            found == zone->available.end()) {
          continue;
        }
        found->second += amount;
        any = true;
        if (found->second > amount_of(zone->allocatable, resource)) {
          return impossible("resource release request exceeds NUMA allocatable");
        }
      }
    }
  }
  if (!any) {
    return impossible("no resources to add, cannot process eviction simulation");
  }
  return simulated;
}

}  // namespace athanor::numa
