// SPDX-License-Identifier: Apache-2.0
// The managers of an emulated kubelet (docs/spec/numa.md 16.5): which pods a node admits and which
// of its cpus, memory and devices they get.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "kube/value/value.hpp"
#include "systems/numa/emulation/node_profile.hpp"
#include "systems/numa/scheduling/pod_request.hpp"

namespace athanor::numa {

using DeviceIdsByName = std::map<std::string, std::vector<std::string>, std::less<>>;

// Exclusive resources of one container, by zone.
struct Allocation {
  std::vector<int> cpus{};
  std::map<int, Amounts> memory{};  // memory and hugepages, by zone
  DeviceIdsByName devices{};

  [[nodiscard]] Value to_value() const;
  static Allocation of(const Value& value);
  [[nodiscard]] bool empty() const { return cpus.empty() && memory.empty() && devices.empty(); }
};
// By container name; "" holds what init containers alone take while they run.
using PodAllocation = std::map<std::string, Allocation>;

// Cpus, memory and devices that the zones still have.
struct FreeZones {
  std::vector<std::vector<int>> cpus{};
  std::vector<Amounts> memory{};
  std::vector<DeviceIdsByName> devices{};
  DeviceIdsByName loose{};  // devices without topology

  explicit FreeZones(const NodeProfile& profile);
  void take(const NodeProfile& profile, const Allocation& allocation);
};

// Admits a pod by the profile's policy and scope. nullopt: refused (TopologyAffinityError). On
// nodes of more than 16 zones one set of three and more zones is tried for each resource.
std::optional<PodAllocation> admit_pod(const NodeProfile& profile, FreeZones free,
                                       const PodRequest& pod);

}  // namespace athanor::numa
