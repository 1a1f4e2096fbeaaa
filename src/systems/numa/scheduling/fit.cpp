// SPDX-License-Identifier: Apache-2.0
// FIT and the two scopes.
#include "systems/numa/scheduling/fit.hpp"

#include <algorithm>
#include <bitset>

#include "base/check.hpp"

namespace athanor::numa {
namespace {

using Role = ContainerRequest::Role;

bool on_every_node(std::string_view resource) {
  return resource == "cpu" || resource == "memory" || resource == "pods" ||
         resource == "ephemeral-storage";
}

const char* refusal_of(Role role) {
  return role == Role::Init      ? "cannot align init container"
         : role == Role::Sidecar ? "cannot align sidecar container"
                                 : "cannot align container";
}

// Takes a container's request from the zone that it was given.
Result<void> subtract(const Amounts& request, bool guaranteed, int id, std::vector<Zone>& zones) {
  const auto zone =
      std::ranges::find_if(zones, [&](const Zone& candidate) { return candidate.id == id; });
  if (zone == zones.end()) {
    return {};
  }
  for (const auto& [resource, amount] : request) {
    const auto found = zone->available.find(resource);
    if (amount <= 0 || found == zone->available.end() ||
        (!guaranteed && is_numa_affine(resource))) {
      continue;
    }
    found->second -= amount;
    if (found->second < 0) {
      return Error::internal("inconsistent resource accounting");
    }
  }
  return {};
}

Result<void> filter_containers(const PodRequest& pod, const std::vector<Zone>& free,
                               const Amounts& node_allocatable, FitTrace* trace) {
  std::vector<Zone> zones;  // once something was taken
  for (const ContainerRequest& container : pod.containers) {
    const auto zone = fit(container.requests, pod.guaranteed, zones.empty() ? free : zones,
                          node_allocatable, trace, container.name);
    if (!zone) {
      return Error::conflict(refusal_of(container.role));
    }
    // Init containers give back what they take before the next container starts.
    const bool stays =
        container.role == Role::App || (container.role == Role::Sidecar && pod.sidecars_counted);
    if (stays && &container != &pod.containers.back()) {
      if (zones.empty()) {
        zones = free;
      }
      ATHANOR_TRY_VOID(subtract(container.requests, pod.guaranteed, *zone, zones));
    }
  }
  return {};
}

// The fewest zones that hold `amount` of a resource together.
std::size_t zones_for_amount(std::vector<std::int64_t> amounts, std::int64_t amount) {
  std::ranges::sort(amounts, std::greater<>());
  std::size_t count = 0;
  while (amount > 0 && count < amounts.size()) {
    amount -= amounts[count++];
  }
  return amount > 0 ? amounts.size() + 1 : count;
}

// Policy restricted: each resource must be served now by as few zones as an empty node would use.
Result<void> filter_restricted(const Amounts& request, bool guaranteed,
                               const std::vector<Zone>& zones, const char* refusal) {
  for (const auto& [resource, amount] : request) {
    std::vector<std::int64_t> allocatable;
    std::vector<std::int64_t> available;
    for (const Zone& zone : zones) {
      if (zone.lists(resource)) {
        allocatable.push_back(amount_of(zone.allocatable, resource));
        available.push_back(amount_of(zone.available, resource));
      }
    }
    if (amount <= 0 || allocatable.empty() || (!guaranteed && is_numa_affine(resource))) {
      continue;
    }
    if (zones_for_amount(allocatable, amount) != zones_for_amount(available, amount)) {
      return Error::conflict(refusal);
    }
  }
  return {};
}

}  // namespace

std::optional<int> fit(const Amounts& request, bool guaranteed, const std::vector<Zone>& zones,
                       const Amounts& node_allocatable, FitTrace* trace,
                       std::string_view container) {
  const auto note = [&](const std::string& resource, std::int64_t amount, std::vector<int> ids,
                        const char* text) {
    if (trace != nullptr) {
      trace->steps.push_back({.container = std::string(container),
                              .resource = resource,
                              .amount = amount,
                              .zones = std::move(ids),
                              .note = text});
    }
  };
  std::bitset<kMostZones> excluded;  // by place
  ATHANOR_CHECK(zones.size() <= kMostZones, "a topology has no more zones");
  bool constrained = false;
  for (const auto& [resource, amount] : request) {
    if (amount <= 0) {
      continue;
    }
    if (!on_every_node(resource) && node_allocatable.find(resource) == node_allocatable.end()) {
      note(resource, amount, {}, "the node does not have it");
      return std::nullopt;
    }
    const bool any_amount = !guaranteed && is_numa_affine(resource);
    bool listed = false;
    std::vector<int> ids;  // for the trace alone
    std::bitset<kMostZones> bad = excluded;
    bool any = false;
    for (std::size_t i = 0; i < zones.size(); ++i) {
      const auto found = zones[i].available.find(resource);
      const bool lists = found != zones[i].available.end();
      const bool good = lists && (any_amount || found->second >= amount);
      listed = listed || lists;
      if (good && trace != nullptr) {
        ids.push_back(zones[i].id);
      }
      if (!good) {
        bad.set(i);
      }
      any = any || !bad.test(i);
    }
    if (!listed && is_host_level(resource)) {
      note(resource, amount, {}, "no zone lists it: the node as a whole serves it");
      continue;
    }
    excluded = bad;
    constrained = true;
    note(resource, amount, std::move(ids), listed ? "" : "no zone lists it");
    if (!any) {
      return std::nullopt;
    }
  }
  int chosen = 0;
  if (constrained) {
    chosen = -1;
    for (std::size_t i = 0; i < zones.size(); ++i) {
      if (!excluded.test(i) && (chosen < 0 || zones[i].id < chosen)) {
        chosen = zones[i].id;
      }
    }
  }
  if (trace != nullptr) {
    trace->chosen.emplace_back(container, chosen);
  }
  return chosen;
}

bool passes_unseen(const PodRequest& pod) {
  return pod.best_effort && !pod.non_native;
}

Result<void> filter(const PodRequest& pod, const NodeTopology& topology,
                    const Amounts& node_allocatable, FitTrace* trace,
                    const FilterOptions& options) {
  if (passes_unseen(pod)) {
    return {};
  }
  const bool by_pod = topology.scope == "pod";
  if (topology.policy == kRestricted && options.restricted) {
    if (by_pod) {
      return filter_restricted(pod.effective, pod.guaranteed, topology.zones, "cannot align pod");
    }
    for (const ContainerRequest& container : pod.containers) {
      ATHANOR_TRY_VOID(filter_restricted(container.requests, pod.guaranteed, topology.zones,
                                         refusal_of(container.role)));
    }
    return {};
  }
  if (topology.policy != kSingleNumaNode) {
    return {};
  }
  if (by_pod) {
    if (!fit(pod.effective, pod.guaranteed, topology.zones, node_allocatable, trace)) {
      return Error::conflict("cannot align pod");
    }
    return {};
  }
  return filter_containers(pod, topology.zones, node_allocatable, trace);
}

}  // namespace athanor::numa
