// SPDX-License-Identifier: Apache-2.0
// Devices that the agent reports to the kubelet, from what it published (docs/spec/das.md 8.3).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kube/value/value.hpp"
#include "systems/das/makers/vendor.hpp"

namespace athanor::das {

// One device of the kubelet's device-plugin API.
struct PluginDevice {
  std::string id{};  // "1g.5gb-0", "gpu-10gb-0"
  bool healthy = true;
  std::optional<int> numa_node{};
  friend bool operator==(const PluginDevice&, const PluginDevice&) = default;
};

// All devices of one resource.
struct DeviceList {
  std::string profile{};  // of shares: the resource
  std::vector<PluginDevice> devices{};
  friend bool operator==(const DeviceList&, const DeviceList&) = default;
};

// Returns one list for each resource of status.nodeResources, in order of their names. Each GPU
// brings as many devices as its vendor says; an unhealthy GPU's devices are unhealthy.
std::vector<DeviceList> device_lists(const Value& node_resources, const Vendor& vendor);

}  // namespace athanor::das
