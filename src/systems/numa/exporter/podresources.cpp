// SPDX-License-Identifier: Apache-2.0
#include "systems/numa/exporter/podresources.hpp"

#include <fmt/core.h>

#include <charconv>
#include <limits>
#include <optional>

namespace athanor::numa {
namespace {

Error wrong_answer(const std::string& path, std::string_view what) {
  return Error::bad_request(fmt::format("{}: {}", path, what));
}

// The member under either of its names.
const Value& either(const Value& object, std::string_view go, std::string_view json) {
  const Value* found = object.find(go);
  return found != nullptr ? *found : object[json];
}

// A number, or its text: protobuf's JSON writes 64-bit integers as texts.
std::optional<std::uint64_t> unsigned_of(const Value& value) {
  if (value.is_integer() && (value.as_int() >= 0 || value.type() == Value::Type::Uint)) {
    return value.as_uint();
  }
  const std::string_view text = value.as_string();
  std::uint64_t number = 0;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), number);
  return !text.empty() && end.ec == std::errc() && end.ptr == text.data() + text.size()
             ? std::optional(number)
             : std::nullopt;
}

Result<std::int64_t> read_id(const Value& value, const std::string& path) {
  const auto number = unsigned_of(value);
  if (!number || *number > static_cast<std::uint64_t>(std::numeric_limits<int>::max())) {
    return wrong_answer(path, "must be an id");
  }
  return static_cast<std::int64_t>(*number);
}

Result<void> check_list(const Value& value, const std::string& path) {
  return value.is_null() || value.is_list() ? Result<void>() : wrong_answer(path, "must be a list");
}

Result<std::string> read_text(const Value& value, const std::string& path) {
  if (!value.is_null() && !value.is_string()) {
    return wrong_answer(path, "must be a text");
  }
  return value.str();
}

// {"nodes": [{"ID": 1}]}; a node without ID is node 0, as protobuf leaves zeros out. A negative
// id means no locality.
Result<std::vector<int>> read_nodes(const Value& topology, const std::string& path) {
  std::vector<int> nodes;
  ATHANOR_TRY_VOID(check_list(topology["nodes"], path + ".topology.nodes"));
  for (const Value& node : topology["nodes"].items()) {
    const Value& id = node["ID"];
    if (id.is_null()) {
      nodes.push_back(0);
    } else if (id.is_integer() && id.as_int() < 0) {
      continue;
    } else {
      ATHANOR_TRY(const std::int64_t number, read_id(id, path + ".topology.nodes.ID"));
      nodes.push_back(static_cast<int>(number));
    }
  }
  return nodes;
}

Result<std::vector<std::int64_t>> read_cpus(const Value& list, const std::string& path) {
  std::vector<std::int64_t> cpus;
  ATHANOR_TRY_VOID(check_list(list, path));
  for (const Value& item : list.items()) {
    ATHANOR_TRY(const std::int64_t cpu, read_id(item, path));
    cpus.push_back(cpu);
  }
  return cpus;
}

Result<std::vector<DeviceIds>> read_devices(const Value& list, const std::string& path) {
  std::vector<DeviceIds> devices;
  ATHANOR_TRY_VOID(check_list(list, path));
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::string at = fmt::format("{}[{}]", path, i);
    DeviceIds entry;
    ATHANOR_TRY(entry.resource,
                read_text(either(list[i], "resource_name", "resourceName"), at + ".resource_name"));
    const Value& ids = either(list[i], "device_ids", "deviceIds");
    ATHANOR_TRY_VOID(check_list(ids, at + ".device_ids"));
    for (const Value& id : ids.items()) {
      ATHANOR_TRY(std::string text, read_text(id, at + ".device_ids"));
      entry.ids.push_back(std::move(text));
    }
    ATHANOR_TRY(entry.nodes, read_nodes(list[i]["topology"], at));
    devices.push_back(std::move(entry));
  }
  return devices;
}

Result<std::vector<MemoryBlock>> read_memory(const Value& list, const std::string& path) {
  std::vector<MemoryBlock> blocks;
  ATHANOR_TRY_VOID(check_list(list, path));
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::string at = fmt::format("{}[{}]", path, i);
    MemoryBlock block;
    ATHANOR_TRY(block.type,
                read_text(either(list[i], "memory_type", "memoryType"), at + ".memory_type"));
    const Value& size = list[i]["size"];
    const auto number = size.is_null() ? std::optional(std::uint64_t{0}) : unsigned_of(size);
    if (!number) {
      return wrong_answer(at + ".size", "must be a number of bytes");
    }
    block.size = *number;
    ATHANOR_TRY(block.nodes, read_nodes(list[i]["topology"], at));
    blocks.push_back(std::move(block));
  }
  return blocks;
}

Result<PodResources> read_pod(const Value& value, const std::string& path) {
  PodResources pod;
  ATHANOR_TRY(pod.key.name, read_text(value["name"], path + ".name"));
  ATHANOR_TRY(pod.key.ns, read_text(value["namespace"], path + ".namespace"));
  const Value& containers = value["containers"];
  ATHANOR_TRY_VOID(check_list(containers, path + ".containers"));
  for (std::size_t i = 0; i < containers.size(); ++i) {
    const std::string at = fmt::format("{}.containers[{}]", path, i);
    ContainerResources container;
    ATHANOR_TRY(container.name, read_text(containers[i]["name"], at + ".name"));
    ATHANOR_TRY(container.cpus,
                read_cpus(either(containers[i], "cpu_ids", "cpuIds"), at + ".cpu_ids"));
    ATHANOR_TRY(container.devices, read_devices(containers[i]["devices"], at + ".devices"));
    ATHANOR_TRY(container.memory, read_memory(containers[i]["memory"], at + ".memory"));
    pod.containers.push_back(std::move(container));
  }
  return pod;
}

Value topology_of(const std::vector<int>& nodes) {
  Value list = Value::list();
  for (const int node : nodes) {
    list.push_back(Value::object({{"ID", node}}));
  }
  return Value::object({{"nodes", std::move(list)}});
}

Value cpus_of(const std::vector<std::int64_t>& cpus) {
  Value list = Value::list();
  for (const std::int64_t cpu : cpus) {
    list.push_back(cpu);
  }
  return list;
}

Value devices_of(const std::vector<DeviceIds>& devices) {
  Value list = Value::list();
  for (const DeviceIds& device : devices) {
    Value ids = Value::list();
    for (const std::string& id : device.ids) {
      ids.push_back(id);
    }
    Value entry = Value::object({{"resource_name", device.resource}, {"device_ids", ids}});
    if (!device.nodes.empty()) {
      entry.set("topology", topology_of(device.nodes));
    }
    list.push_back(std::move(entry));
  }
  return list;
}

Value memory_of(const std::vector<MemoryBlock>& blocks) {
  Value list = Value::list();
  for (const MemoryBlock& block : blocks) {
    Value entry = Value::object({{"memory_type", block.type}, {"size", block.size}});
    if (!block.nodes.empty()) {
      entry.set("topology", topology_of(block.nodes));
    }
    list.push_back(std::move(entry));
  }
  return list;
}

}  // namespace

Result<std::vector<PodResources>> read_list(const Value& answer) {
  std::vector<PodResources> pods;
  if (!answer.is_object()) {
    return wrong_answer("answer", "must be an object");
  }
  const Value& list = either(answer, "pod_resources", "podResources");
  ATHANOR_TRY_VOID(check_list(list, "pod_resources"));
  for (std::size_t i = 0; i < list.size(); ++i) {
    ATHANOR_TRY(PodResources pod, read_pod(list[i], fmt::format("pod_resources[{}]", i)));
    pods.push_back(std::move(pod));
  }
  return pods;
}

Result<AllocatableResources> read_allocatable(const Value& answer) {
  AllocatableResources resources;
  if (!answer.is_object()) {
    return wrong_answer("answer", "must be an object");
  }
  ATHANOR_TRY(resources.cpus, read_cpus(either(answer, "cpu_ids", "cpuIds"), "cpu_ids"));
  ATHANOR_TRY(resources.devices, read_devices(answer["devices"], "devices"));
  ATHANOR_TRY(resources.memory, read_memory(answer["memory"], "memory"));
  return resources;
}

Result<PodResources> read_get(const Value& answer) {
  const Value& pod = either(answer, "pod_resources", "podResources");
  if (!pod.is_object()) {
    return wrong_answer("pod_resources", "must be an object");
  }
  return read_pod(pod, "pod_resources");
}

Value to_value(const std::vector<PodResources>& pods) {
  Value list = Value::list();
  for (const PodResources& pod : pods) {
    Value containers = Value::list();
    for (const ContainerResources& container : pod.containers) {
      containers.push_back(Value::object({{"name", container.name},
                                          {"cpu_ids", cpus_of(container.cpus)},
                                          {"devices", devices_of(container.devices)},
                                          {"memory", memory_of(container.memory)}}));
    }
    list.push_back(Value::object({{"name", pod.key.name},
                                  {"namespace", pod.key.ns},
                                  {"containers", std::move(containers)}}));
  }
  return Value::object({{"pod_resources", std::move(list)}});
}

Value to_value(const AllocatableResources& resources) {
  return Value::object({{"cpu_ids", cpus_of(resources.cpus)},
                        {"devices", devices_of(resources.devices)},
                        {"memory", memory_of(resources.memory)}});
}

}  // namespace athanor::numa
