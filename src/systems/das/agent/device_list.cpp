// SPDX-License-Identifier: Apache-2.0
#include "systems/das/agent/device_list.hpp"

#include <fmt/core.h>

#include <map>
#include <set>

#include "systems/das/sharing/share.hpp"
#include "systems/das/slices/profile.hpp"

namespace athanor::das {
namespace {

// One GPU's devices of a profile.
struct Share {
  int devices = 0;
  bool healthy = true;
  int numa_node = -1;
};

DeviceList list_of(const std::string& profile, const std::vector<Share>& shares) {
  std::set<int> nodes;
  for (const Share& share : shares) {
    nodes.insert(share.numa_node);
  }
  const bool one_node = nodes.size() == 1 && *nodes.begin() >= 0;
  DeviceList list{.profile = profile};
  const std::string name = profile.substr(profile.find('/') + 1);
  for (const Share& share : shares) {
    for (int i = 0; i < share.devices; ++i) {
      list.devices.push_back(
          {.id = fmt::format("{}-{}", name, list.devices.size()),
           .healthy = share.healthy,
           .numa_node = one_node ? std::optional(*nodes.begin()) : std::nullopt});
    }
  }
  return list;
}

}  // namespace

std::vector<DeviceList> device_lists(const Value& node_resources, const Vendor& vendor) {
  const std::vector<std::map<std::string, int>> devices = devices_of(node_resources, vendor);
  std::map<std::string, std::vector<Share>> shares;  // by resource
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const Value& gpu = node_resources["nodeGpus"][i];
    for (const auto& [resource, count] : devices[i]) {
      shares[resource].push_back({.devices = count,
                                  .healthy = vendor.health(gpu).empty(),
                                  .numa_node = static_cast<int>(gpu["numaNode"].as_int(-1))});
    }
  }
  std::vector<DeviceList> lists;
  lists.reserve(shares.size());
  for (const auto& [resource, share] : shares) {
    lists.push_back(list_of(profile_of_resource(resource).value_or(resource), share));
  }
  return lists;
}

}  // namespace athanor::das
