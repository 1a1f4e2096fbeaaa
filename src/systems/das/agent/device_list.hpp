// SPDX-License-Identifier: Apache-2.0
// Devices that the agent reports to the kubelet, from what it published (docs/spec/das.md 8.3).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kube/value/value.hpp"

namespace athanor::das {

struct PluginDevice {
  std::string id{};  // "1g.5gb-0"
  bool healthy = true;
  std::optional<int> numa_node{};
  friend bool operator==(const PluginDevice&, const PluginDevice&) = default;
};

// All devices of one resource.
struct DeviceList {
  std::string profile{};
  std::vector<PluginDevice> devices{};
  friend bool operator==(const DeviceList&, const DeviceList&) = default;
};

// Returns one list for each profile of status.nodeResources, in order of resource names. Each GPU
// brings as many devices as the profile has placements, profiles with media extensions as many as
// it holds instances; an unhealthy GPU's share is unhealthy.
std::vector<DeviceList> device_lists(const Value& node_resources);

}  // namespace athanor::das
