// SPDX-License-Identifier: Apache-2.0
#include "systems/das/dra/publication.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <utility>

#include "api/device_kinds.hpp"
#include "kube/value/object.hpp"
#include "systems/das/dra/engines.hpp"
#include "systems/das/slices/profile.hpp"

namespace athanor::das {
namespace {

// Limits of a ResourceSlice whose devices consume counters.
constexpr std::size_t kMostDevices = 64;
constexpr std::size_t kMostCounterSets = 8;

// The driver's attributes of emulated GPUs.
constexpr const char* kDriverVersion = "570.86.15";
constexpr const char* kCudaVersion = "12.8.0";

std::string counter_set(int minor) {
  return fmt::format("gpu-{}-counter-set", minor);
}

using Amounts = std::vector<std::pair<std::string, std::string>>;

Amounts amounts_of(const Engines& engines, int first_slot, int slots, bool zeros) {
  const std::array<std::pair<const char*, int>, 6> counted{
      {{"multiprocessors", engines.multiprocessors},
       {"copy-engines", engines.copy},
       {"decoders", engines.decoders},
       {"encoders", engines.encoders},
       {"jpeg-engines", engines.jpeg},
       {"ofa-engines", engines.ofa}}};
  Amounts amounts;
  for (const auto& [name, amount] : counted) {
    if (zeros || amount > 0) {
      amounts.emplace_back(name, fmt::format("{}", amount));
    }
  }
  amounts.emplace_back("memory", fmt::format("{}Mi", engines.memory_mib));
  for (int slot = first_slot; slot < first_slot + slots; ++slot) {
    amounts.emplace_back(fmt::format("memory-slice-{}", slot), "1");
  }
  return amounts;
}

Value counters(const Amounts& amounts) {
  Value value = Value::object();
  for (const auto& [name, amount] : amounts) {
    value.set(name, Value::object({{"value", amount}}));
  }
  return value;
}

Value consumption(int minor, const Amounts& amounts) {
  return Value::list(
      {Value::object({{"counterSet", counter_set(minor)}, {"counters", counters(amounts)}})});
}

// Attributes and capacities have NVIDIA's names, whichever driver publishes them.
std::string qualified(std::string_view name) {
  return fmt::format("{}/{}", kAttributeDomain, name);
}

Value attributes_of(const PublishedGpu& gpu, const char* type) {
  Value attributes = Value::object();
  const auto add = [&](std::string_view name, const char* form, const Value& value) {
    attributes.set(qualified(name), Value::object({{form, value}}));
  };
  add("type", "string", type);
  add("productName", "string", gpu.model->product());
  add("brand", "string", "Nvidia");
  add("architecture", "string", gpu.model->architecture);
  add("cudaComputeCapability", "version", gpu.model->compute_capability);
  add("driverVersion", "version", kDriverVersion);
  add("cudaDriverVersion", "version", kCudaVersion);
  return attributes;
}

Value capacity_of(const Engines& engines) {
  Value capacity = Value::object();
  const auto add = [&](std::string_view name, const std::string& amount) {
    capacity.set(qualified(name), Value::object({{"value", amount}}));
  };
  add("multiprocessors", fmt::format("{}", engines.multiprocessors));
  add("copyEngines", fmt::format("{}", engines.copy));
  add("decoders", fmt::format("{}", engines.decoders));
  add("encoders", fmt::format("{}", engines.encoders));
  add("jpegEngines", fmt::format("{}", engines.jpeg));
  add("ofaEngines", fmt::format("{}", engines.ofa));
  add("memory", fmt::format("{}Mi", engines.memory_mib));
  return capacity;
}

Value whole_gpu(const PublishedGpu& gpu) {
  const Engines engines = engines_of(*gpu.model);
  Value attributes = attributes_of(gpu, "gpu");
  attributes.set(qualified("uuid"), Value::object({{"string", gpu.uuid}}));
  return Value::object(
      {{"name", device_name(gpu.minor)},
       {"attributes", std::move(attributes)},
       {"capacity", capacity_of(engines)},
       {"consumesCounters",
        consumption(gpu.minor, amounts_of(engines, 0, gpu.model->table.slots, false))}});
}

Value mig_device(const PublishedGpu& gpu, const MigProfile& profile, int start) {
  const Engines engines = engines_of(*gpu.model, profile);
  Value attributes = attributes_of(gpu, "mig");
  attributes.set(qualified("parentUUID"), Value::object({{"string", gpu.uuid}}));
  attributes.set(qualified("profile"), Value::object({{"string", profile.name}}));
  attributes.set(qualified("placementStart"), Value::object({{"int", start}}));
  attributes.set(qualified("placementSize"), Value::object({{"int", profile.size}}));
  return Value::object({{"name", device_name(gpu.minor, profile, start)},
                        {"attributes", std::move(attributes)},
                        {"capacity", capacity_of(engines)},
                        {"consumesCounters",
                         consumption(gpu.minor, amounts_of(engines, start, profile.size, false))}});
}

// The last starts first: they leave the most room for larger slices (docs/spec/das.md 6.6).
std::vector<Value> devices_of(const PublishedGpu& gpu) {
  std::vector<Value> devices;
  if (gpu.foreign == 0) {
    devices.push_back(whole_gpu(gpu));
  }
  for (const MigProfile& profile : gpu.model->table.profiles) {
    for (auto start = profile.starts.rbegin(); start != profile.starts.rend(); ++start) {
      if ((gpu.foreign & mask_of(*start, profile.size)) == 0) {
        devices.push_back(mig_device(gpu, profile, *start));
      }
    }
  }
  return devices;
}

Value device_class(std::string_view name, const std::string& expression,
                   const std::string& extended_resource = {}) {
  Value spec = Value::object(
      {{"selectors",
        Value::list({Value::object({{"cel", Value::object({{"expression", expression}})}})})}});
  if (!extended_resource.empty()) {
    spec.set("extendedResourceName", extended_resource);
  }
  return Value::object(
      {{"apiVersion", api::kDeviceClass.api_version()},
       {"kind", api::kDeviceClass.name},
       {"metadata", Value::object({{"name", name},
                                   {"labels", Value::object({{"app.kubernetes.io/managed-by",
                                                              "das-operator"}})}})},
       {"spec", std::move(spec)}});
}

// Devices of other drivers lack the attribute, which must not be an error.
std::string equals(std::string_view attribute, std::string_view value) {
  return fmt::format("has(device.attributes['{0}'].{1}) && device.attributes['{0}'].{1} == '{2}'",
                     kAttributeDomain, attribute, value);
}

}  // namespace

std::string device_name(int minor) {
  return fmt::format("gpu-{}", minor);
}

std::string device_name(int minor, const MigProfile& profile, int start) {
  std::string text;
  for (const char c : profile.name) {
    if (c != '.') {
      text += c == '+' ? '-' : c;
    }
  }
  return fmt::format("gpu-{}-mig-{}-{}-{}", minor, text, profile.smi_id, start);
}

std::vector<Value> resource_slices(const PublishedNode& node, std::int64_t generation) {
  std::vector<Value> contents;  // {"sharedCounters" or "devices": list}
  Value sets = Value::list();
  const auto flush = [&](const char* member, Value& list) {
    if (!list.empty()) {
      contents.push_back(Value::object({{member, std::exchange(list, Value::list())}}));
    }
  };
  for (const PublishedGpu& gpu : node.gpus) {
    const Amounts all = amounts_of(engines_of(*gpu.model), 0, gpu.model->table.slots, true);
    sets.push_back(Value::object({{"name", counter_set(gpu.minor)}, {"counters", counters(all)}}));
    if (sets.size() == kMostCounterSets) {
      flush("sharedCounters", sets);
    }
  }
  flush("sharedCounters", sets);
  Value devices = Value::list();
  for (const PublishedGpu& gpu : node.gpus) {
    std::vector<Value> own = devices_of(gpu);
    if (devices.size() + own.size() > kMostDevices) {
      flush("devices", devices);
    }
    for (Value& device : own) {
      devices.push_back(std::move(device));
    }
  }
  flush("devices", devices);
  const Value owner = OwnerReference{.api_version = "v1",
                                     .kind = "Node",
                                     .name = node.name,
                                     .uid = node.uid,
                                     .controller = true}
                          .to_value();
  std::vector<Value> slices;
  for (Value& content : contents) {
    const Value pool =
        Value::object({{"name", node.name},
                       {"generation", generation},
                       {"resourceSliceCount", static_cast<std::int64_t>(contents.size())}});
    Value spec = Value::object({{"driver", node.driver}, {"nodeName", node.name}, {"pool", pool}});
    for (const Member& member : content.members()) {
      spec.set(member.key(), member.value);
    }
    slices.push_back(Value::object(
        {{"apiVersion", api::kResourceSlice.api_version()},
         {"kind", api::kResourceSlice.name},
         {"metadata", Value::object({{"name", fmt::format("{}-{}-{:02}", node.name, node.driver,
                                                          slices.size())},
                                     {"ownerReferences", Value::list({owner})}})},
         {"spec", std::move(spec)}}));
  }
  return slices;
}

std::vector<Value> device_classes(const std::set<std::string>& profiles) {
  std::vector<Value> classes{
      device_class("gpu.nvidia.com", equals("type", "gpu"), "nvidia.com/gpu"),
      device_class("mig.nvidia.com", equals("type", "mig"))};
  for (const std::string& profile : profiles) {
    classes.push_back(device_class(encode_profile(profile) + ".mig.nvidia.com",
                                   equals("profile", profile), resource_of(profile)));
  }
  return classes;
}

}  // namespace athanor::das
