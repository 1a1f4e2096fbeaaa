// SPDX-License-Identifier: Apache-2.0
#include "systems/numa/emulation/emulated_podresources.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>

#include "api/builtin.hpp"
#include "systems/numa/emulation/node_state.hpp"
#include "systems/numa/exporter/podresources_wire.hpp"

namespace athanor::numa {
namespace {

std::uint64_t units(std::int64_t amount) {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(amount, 0) / kUnit);
}

// Members of `ids` that the device has; nothing is added where there are none.
void add_entry(const NodeProfile::Device& device, const std::vector<std::string>& ids,
               std::vector<int> nodes, std::vector<DeviceIds>& devices) {
  DeviceIds entry{.resource = device.resource, .nodes = std::move(nodes)};
  std::ranges::copy_if(ids, std::back_inserter(entry.ids), [&](const std::string& id) {
    return std::ranges::find(device.ids, id) != device.ids.end();
  });
  if (!entry.ids.empty()) {
    devices.push_back(std::move(entry));
  }
}

// One entry for each zone that has some of the ids, in the profile's order, and one for those
// without topology.
void add_devices(const NodeProfile& profile, const std::string& resource,
                 const std::vector<std::string>& ids, std::vector<DeviceIds>& devices) {
  for (std::size_t i = 0; i < profile.zones.size(); ++i) {
    for (const NodeProfile::Device& known : profile.zones[i].devices) {
      if (known.resource == resource) {
        add_entry(known, ids, {static_cast<int>(i)}, devices);
      }
    }
  }
  for (const NodeProfile::Device& known : profile.devices) {
    if (known.resource == resource) {
      add_entry(known, ids, {}, devices);
    }
  }
}

ContainerResources resources_of(const NodeProfile& profile, const std::string& name,
                                const Allocation& allocation) {
  ContainerResources resources{.name = name};
  resources.cpus.assign(allocation.cpus.begin(), allocation.cpus.end());
  for (const auto& [resource, ids] : allocation.devices) {
    add_devices(profile, resource, ids, resources.devices);
  }
  for (const auto& [zone, amounts] : allocation.memory) {
    for (const auto& [type, amount] : amounts) {
      resources.memory.push_back({.type = type, .size = units(amount), .nodes = {zone}});
    }
  }
  return resources;
}

bool has_ended(const Object& pod) {
  const std::string_view phase = pod.status()["phase"].as_string();
  return phase == "Succeeded" || phase == "Failed";
}

std::vector<std::string> listed_containers(const Object& pod) {
  std::vector<std::string> names;
  for (const Value& container : pod.spec()["initContainers"].items()) {
    if (container["restartPolicy"].as_string() == "Always") {
      names.push_back(container["name"].str());
    }
  }
  for (const Value& container : pod.spec()["containers"].items()) {
    names.push_back(container["name"].str());
  }
  return names;
}

// Every cpu that no container has for itself.
std::vector<std::int64_t> shared_pool(const NodeProfile& profile,
                                      const std::vector<PodResources>& pods) {
  std::set<std::int64_t> cpus;
  for (const auto& zone : profile.zones) {
    cpus.insert(zone.cpus.begin(), zone.cpus.end());
    cpus.insert(zone.reserved_cpus.begin(), zone.reserved_cpus.end());
  }
  for (const PodResources& pod : pods) {
    for (const ContainerResources& container : pod.containers) {
      for (const std::int64_t cpu : container.cpus) {
        cpus.erase(cpu);
      }
    }
  }
  return {cpus.begin(), cpus.end()};
}

// Status codes of gRPC.
constexpr int kUnknown = 2;
constexpr int kInvalidArgument = 3;
constexpr int kUnimplemented = 12;
constexpr int kUnavailable = 14;

NodeSocketAnswer answer_get(const std::vector<PodResources>& pods, std::string_view message) {
  const auto wanted = decode_get_request(message);
  if (!wanted.ok()) {
    return {.status = kInvalidArgument, .message = wanted.error().message};
  }
  const auto found = std::ranges::find(pods, *wanted, &PodResources::key);
  if (found == pods.end()) {
    return {.status = kUnknown,
            .message = fmt::format("pod {} in namespace {} not found", wanted->name, wanted->ns)};
  }
  return {.body = encode_get(*found)};
}

NodeSocketAnswer answer(const View& view, const Object& node, std::string_view method,
                        std::string_view message) {
  const auto profile = profile_of(node);
  if (!profile) {
    return {.status = kUnavailable, .message = "the node has no zones"};
  }
  if (method == kListMethod) {
    return {.body = encode(pod_resources_of(view, node, *profile))};
  }
  if (method == kAllocatableMethod) {
    return {.body = encode(allocatable_of(*profile))};
  }
  if (method == kGetMethod) {
    return answer_get(pod_resources_of(view, node, *profile), message);
  }
  return {.status = kUnimplemented, .message = fmt::format("unknown method {}", method)};
}

}  // namespace

NodeSocket podresources_socket() {
  return {
      .path = "/var/lib/kubelet/pod-resources/kubelet.sock",
      .present = [](const Object& node) { return !node.annotation(kProfileAnnotation).empty(); },
      .answer = answer};
}

Hardware hardware_of(const NodeProfile& profile) {
  Hardware hardware;
  for (std::size_t i = 0; i < profile.zones.size(); ++i) {
    const auto& zone = profile.zones[i];
    HardwareNode node{.id = static_cast<int>(i)};
    node.cpus.assign(zone.cpus.begin(), zone.cpus.end());
    node.cpus.insert(node.cpus.end(), zone.reserved_cpus.begin(), zone.reserved_cpus.end());
    std::ranges::sort(node.cpus);
    for (const auto& [resource, amount] : zone.capacity) {
      node.memory.insert_or_assign(resource, units(amount));
    }
    for (std::size_t j = 0; j < zone.distances.size(); ++j) {
      node.distances.insert_or_assign(static_cast<int>(j), zone.distances[j]);
    }
    hardware.nodes.push_back(std::move(node));
  }
  return hardware;
}

AllocatableResources allocatable_of(const NodeProfile& profile) {
  AllocatableResources resources;
  for (std::size_t i = 0; i < profile.zones.size(); ++i) {
    const auto& zone = profile.zones[i];
    resources.cpus.insert(resources.cpus.end(), zone.cpus.begin(), zone.cpus.end());
    for (const NodeProfile::Device& device : zone.devices) {
      resources.devices.push_back(
          {.resource = device.resource, .ids = device.ids, .nodes = {static_cast<int>(i)}});
    }
    for (const auto& [resource, amount] : profile.allocatable(i)) {
      if (resource == "memory" || resource.starts_with("hugepages-")) {
        resources.memory.push_back(
            {.type = resource, .size = units(amount), .nodes = {static_cast<int>(i)}});
      }
    }
  }
  for (const NodeProfile::Device& device : profile.devices) {
    resources.devices.push_back({.resource = device.resource, .ids = device.ids});
  }
  return resources;
}

std::vector<PodResources> pod_resources_of(const View& view, const Object& node,
                                           const NodeProfile& profile) {
  const std::map<std::string, PodAllocation> allocations = allocations_of(view, node);
  std::vector<PodResources> pods;
  for (const Object& pod :
       view.list(api::kPod, {.index = "node", .index_value = std::string(node.name())})) {
    if (has_ended(pod) && !profile.lists_terminal_pods) {
      continue;
    }
    PodResources resources{.key = pod.key()};
    const auto held = allocations.find(std::string(pod.uid()));
    for (const std::string& name : listed_containers(pod)) {
      Allocation allocation;
      if (held != allocations.end()) {
        const auto found = held->second.find(name);
        allocation = found == held->second.end() ? Allocation() : found->second;
      }
      resources.containers.push_back(resources_of(profile, name, allocation));
    }
    pods.push_back(std::move(resources));
  }
  if (profile.lists_shared_cpus) {
    const std::vector<std::int64_t> shared = shared_pool(profile, pods);
    for (PodResources& pod : pods) {
      for (ContainerResources& container : pod.containers) {
        if (container.cpus.empty()) {
          container.cpus = shared;
        }
      }
    }
  }
  return pods;
}

}  // namespace athanor::numa
