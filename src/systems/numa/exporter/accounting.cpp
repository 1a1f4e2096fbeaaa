// SPDX-License-Identifier: Apache-2.0
#include "systems/numa/exporter/accounting.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>

namespace athanor::numa {
namespace {

// Sums of what a kubelet says must not wrap around.
void add(std::uint64_t& sum, std::uint64_t more) {
  sum = more > std::numeric_limits<std::uint64_t>::max() - sum
            ? std::numeric_limits<std::uint64_t>::max()
            : sum + more;
}

void count(const Hardware& hardware, const std::vector<std::int64_t>& cpus,
           const std::vector<DeviceIds>& devices, const std::vector<MemoryBlock>& memory,
           NodeAmounts& amounts) {
  for (const std::int64_t cpu : cpus) {
    if (const auto node = hardware.node_of(cpu)) {
      add(amounts[*node]["cpu"], 1);
    }
  }
  for (const DeviceIds& device : devices) {
    for (const int node : device.nodes) {
      if (!device.ids.empty()) {
        add(amounts[node][device.resource], device.ids.size());
      }
    }
  }
  for (const MemoryBlock& block : memory) {
    for (const int node : block.nodes) {
      if (block.size > 0) {
        add(amounts[node][block.type], block.size);
      }
    }
  }
}

std::uint64_t capacity_of(const HardwareNode& node, const std::string& resource) {
  if (resource == "cpu") {
    return node.cpus.size();
  }
  const auto found = node.memory.find(resource);
  return found == node.memory.end() ? 0 : found->second;
}

std::uint64_t used_of(const NodeAmounts& used, int node, const std::string& resource) {
  const auto on_node = used.find(node);
  if (on_node == used.end()) {
    return 0;
  }
  const auto found = on_node->second.find(resource);
  return found == on_node->second.end() ? 0 : found->second;
}

std::vector<ResourceAmounts> resources_of(const HardwareNode& node, const NodeAmounts& allocatable,
                                          const NodeAmounts& used,
                                          const std::set<std::string>& excluded) {
  std::vector<ResourceAmounts> resources;
  const auto found = allocatable.find(node.id);
  if (found == allocatable.end()) {
    if (!excluded.contains("cpu")) {
      resources.push_back({.name = "cpu", .capacity = node.cpus.size()});
    }
    return resources;
  }
  for (const auto& [name, amount] : found->second) {
    if (excluded.contains(name)) {
      continue;
    }
    const std::uint64_t taken = used_of(used, node.id, name);
    // A capacity that is unknown, or less than what the kubelet may give, is no use to anybody.
    resources.push_back({.name = name,
                         .capacity = std::max(capacity_of(node, name), amount),
                         .allocatable = amount,
                         .available = amount > taken ? amount - taken : 0});
  }
  return resources;
}

std::optional<int> node_of(const Hardware& hardware, const ContainerResources& container) {
  for (const std::int64_t cpu : container.cpus) {
    if (const auto node = hardware.node_of(cpu)) {
      return node;
    }
  }
  for (const DeviceIds& device : container.devices) {
    if (!device.ids.empty() && !device.nodes.empty()) {
      return device.nodes.front();
    }
  }
  for (const MemoryBlock& block : container.memory) {
    if (block.size > 0 && !block.nodes.empty()) {
      return block.nodes.front();
    }
  }
  return std::nullopt;
}

}  // namespace

std::vector<ExportedZone> account(const Hardware& hardware, const AllocatableResources& allocatable,
                                  std::span<const PodResources> pods,
                                  const AccountingOptions& options) {
  NodeAmounts given;
  count(hardware, allocatable.cpus, allocatable.devices, allocatable.memory, given);
  NodeAmounts used;
  for (const PodResources& pod : pods) {
    if (!options.watch_namespace.empty() && pod.key.ns != options.watch_namespace) {
      continue;
    }
    for (const ContainerResources& container : pod.containers) {
      count(hardware, container.cpus, container.devices, container.memory, used);
    }
  }
  std::vector<ExportedZone> zones;
  for (const HardwareNode& node : hardware.nodes) {
    ExportedZone zone{.id = node.id};
    zone.costs.assign(node.distances.begin(), node.distances.end());
    zone.resources = resources_of(node, given, used, options.excluded);
    zones.push_back(std::move(zone));
  }
  return zones;
}

bool has_locality(const PodResources& pod) {
  return std::ranges::any_of(pod.containers, [](const ContainerResources& container) {
    return !container.cpus.empty() ||
           std::ranges::any_of(container.memory,
                               [](const MemoryBlock& block) { return !block.nodes.empty(); }) ||
           std::ranges::any_of(container.devices, [](const DeviceIds& device) {
             return !device.ids.empty() && !device.nodes.empty();
           });
  });
}

std::vector<PlacedContainer> placed_containers(const Hardware& hardware,
                                               std::span<const PodResources> pods) {
  std::vector<PlacedContainer> placed;
  for (const PodResources& pod : pods) {
    if (!has_locality(pod)) {
      continue;
    }
    for (const ContainerResources& container : pod.containers) {
      if (const auto node = node_of(hardware, container)) {
        placed.push_back({.name = {pod.key.ns, pod.key.name, container.name}, .node = *node});
      }
    }
  }
  return placed;
}

Value zones_value(std::span<const ExportedZone> zones, const std::map<int, std::string>& vectors) {
  Value list = Value::list();
  for (const ExportedZone& zone : zones) {
    Value costs = Value::list();
    for (const auto& [id, cost] : zone.costs) {
      costs.push_back(Value::object({{"name", fmt::format("node-{}", id)}, {"value", cost}}));
    }
    Value resources = Value::list();
    for (const ResourceAmounts& resource : zone.resources) {
      resources.push_back(Value::object({{"name", resource.name},
                                         {"capacity", fmt::to_string(resource.capacity)},
                                         {"allocatable", fmt::to_string(resource.allocatable)},
                                         {"available", fmt::to_string(resource.available)}}));
    }
    Value entry = Value::object({{"name", fmt::format("node-{}", zone.id)},
                                 {"type", "Node"},
                                 {"costs", std::move(costs)},
                                 {"resources", std::move(resources)}});
    if (const auto vector = vectors.find(zone.id); vector != vectors.end()) {
      entry.set("attributes",
                Value::list({Value::object({{"name", "topology.node.k8s.io/numaplacement-vector"},
                                            {"value", vector->second}})}));
    }
    list.push_back(std::move(entry));
  }
  return list;
}

}  // namespace athanor::numa
