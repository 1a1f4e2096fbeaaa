// SPDX-License-Identifier: Apache-2.0
#include "systems/das/agent/device_list.hpp"

#include <fmt/core.h>

#include <map>
#include <set>

#include "systems/das/placement/inventory.hpp"
#include "systems/das/placement/profile.hpp"

namespace athanor::das {
namespace {

// What one GPU brings to a profile.
struct Share {
  int devices = 0;
  bool healthy = true;
  int numa_node = -1;
};

int devices_per_gpu(const MigProfile& profile) {
  return profile.name.ends_with("+me") ? profile.most : static_cast<int>(profile.starts.size());
}

DeviceList list_of(const std::string& profile, const std::vector<Share>& shares) {
  std::set<int> nodes;
  for (const Share& share : shares) {
    nodes.insert(share.numa_node);
  }
  const bool one_node = nodes.size() == 1 && *nodes.begin() >= 0;
  DeviceList list{.profile = profile};
  for (const Share& share : shares) {
    for (int i = 0; i < share.devices; ++i) {
      list.devices.push_back(
          {.id = fmt::format("{}-{}", profile, list.devices.size()),
           .healthy = share.healthy,
           .numa_node = one_node ? std::optional(*nodes.begin()) : std::nullopt});
    }
  }
  return list;
}

}  // namespace

std::vector<DeviceList> device_lists(const Value& node_resources) {
  const NodeGpus node = read_resources(node_resources);
  std::map<std::string, std::pair<std::string, std::vector<Share>>> shares;  // by resource
  for (std::size_t i = 0; i < node.gpus.size(); ++i) {
    const NodeGpu& gpu = node.gpus[i];
    if (gpu.dra) {
      continue;
    }
    const Value& numa_node = node_resources["nodeGpus"][i]["numaNode"];
    for (const MigProfile& profile : node.tables[gpu.table].profiles) {
      auto& [name, list] = shares[resource_of(profile.name)];
      name = profile.name;
      list.push_back({.devices = devices_per_gpu(profile),
                      .healthy = gpu.healthy,
                      .numa_node = static_cast<int>(numa_node.as_int(-1))});
    }
  }
  std::vector<DeviceList> lists;
  lists.reserve(shares.size());
  for (const auto& [resource, share] : shares) {
    lists.push_back(list_of(share.first, share.second));
  }
  return lists;
}

}  // namespace athanor::das
