// SPDX-License-Identifier: Apache-2.0
#include "systems/das/agent/discovery.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "systems/das/slices/profile.hpp"

namespace athanor::das {
namespace {

// The largest binary suffix that leaves a whole number.
std::string quantity_of(std::int64_t bytes) {
  constexpr std::array<std::string_view, 5> kSuffixes{"", "Ki", "Mi", "Gi", "Ti"};
  constexpr std::int64_t kStep = 1024;
  std::size_t suffix = 0;
  while (bytes != 0 && bytes % kStep == 0 && suffix + 1 < kSuffixes.size()) {
    bytes /= kStep;
    ++suffix;
  }
  return fmt::format("{}{}", bytes, kSuffixes[suffix]);
}

Value profiles_of(const MigTable& table) {
  Value profiles = Value::object();
  for (const MigProfile& profile : table.profiles) {
    Value placements = Value::list();
    for (const int start : profile.starts) {
      placements.push_back(Value::object({{"size", profile.size}, {"start", start}}));
    }
    Value entry = Value::object({{"placements", std::move(placements)},
                                 {"giProfileId", profile.gi_profile},
                                 {"ciProfileId", profile.ci_profile},
                                 {"maxInstances", profile.most},
                                 {"computeSlices", profile.compute},
                                 {"memoryMiB", profile.memory_mib}});
    if (profile.smi_id >= 0) {
      entry.set("smiProfileId", profile.smi_id);
    }
    const auto name = parse_profile(profile.name);
    if (name && !name->attributes.empty()) {
      entry.set("attributes", Value::list({attribute_of(*name)}));
    }
    profiles.set(profile.name, std::move(entry));
  }
  return profiles;
}

bool is_ours(const FoundSlice& slice, const std::vector<SliceRecord>& records) {
  return std::ranges::any_of(records, [&](const SliceRecord& record) {
    return record.gpu == slice.gpu && record.start == slice.start && record.size == slice.size;
  });
}

Value foreign_on(const FoundGpu& gpu, const Discovery& found,
                 const std::vector<SliceRecord>& records) {
  Value foreign = Value::list();
  for (const FoundSlice& slice : found.slices) {
    if (slice.gpu == gpu.uuid && !is_ours(slice, records)) {
      foreign.push_back(Value::object({{"size", slice.size}, {"start", slice.start}}));
    }
  }
  return foreign;
}

Value ready(const char* status, const char* reason, const std::string& message) {
  return Value::object({{"status", status}, {"reason", reason}, {"message", message}});
}

}  // namespace

int slots_of(const MigTable& table) {
  int slots = 0;
  for (const MigProfile& profile : table.profiles) {
    for (const int start : profile.starts) {
      slots = std::max(slots, start + profile.size);
    }
  }
  return slots;
}

Value node_resources(const Discovery& found, const std::vector<SliceRecord>& records,
                     const std::string& boot_id) {
  const auto sliced = std::ranges::find(found.gpus, false, &FoundGpu::whole);
  const Value shared = sliced == found.gpus.end() ? Value::object() : profiles_of(sliced->table);
  Value gpus = Value::list();
  for (const FoundGpu& gpu : found.gpus) {
    Value entry = Value::object({{"gpuUuid", gpu.uuid},
                                 {"gpuName", gpu.name},
                                 {"gpuMemory", quantity_of(gpu.memory_bytes)},
                                 {"index", gpu.index},
                                 {"pciBusId", gpu.pci_bus_id},
                                 {"health", gpu.healthy ? "Healthy" : "Unhealthy"}});
    if (!gpu.whole) {
      entry.set("slots", slots_of(gpu.table));
    }
    if (gpu.lost) {
      entry.set("lost", true);
    }
    if (gpu.numa_node >= 0) {
      entry.set("numaNode", gpu.numa_node);
    }
    if (Value own = profiles_of(gpu.table); own != shared) {
      entry.set("migPlacement", std::move(own));
    }
    if (Value foreign = foreign_on(gpu, found, records); !foreign.empty()) {
      entry.set("foreign", std::move(foreign));
    }
    gpus.push_back(std::move(entry));
  }
  return Value::object({{"nodeGpus", std::move(gpus)},
                        {"migPlacement", shared},
                        {"nodeResources", Value::object()},
                        {"bootId", boot_id}});
}

Value claims_with_slices(const Discovery& found, const std::vector<SliceRecord>& records) {
  Value uids = Value::list();
  for (const SliceRecord& record : records) {
    if (!record.device.empty() &&
        std::ranges::find(found.slices, record.device, &FoundSlice::device) != found.slices.end()) {
      uids.push_back(record.claim_uid);
    }
  }
  return uids;
}

std::vector<Divisible> divisions_of(const Discovery& found) {
  std::vector<Divisible> divisions;
  divisions.reserve(found.gpus.size());
  for (const FoundGpu& gpu : found.gpus) {
    divisions.push_back(gpu.whole ? Divisible::Whole : Divisible::Slices);
  }
  return divisions;
}

Value readiness(const Value& resources) {
  const Value& gpus = resources["nodeGpus"];
  if (gpus.empty()) {
    return ready("False", "NoMIGEnabledGPU",
                 "No GPU of the node has MIG mode enabled or is shared");
  }
  std::string sick;
  for (const Value& gpu : gpus.items()) {
    if (gpu["health"].as_string() == "Unhealthy") {
      sick += (sick.empty() ? "" : ", ") + gpu["gpuUuid"].str();
    }
  }
  return sick.empty() ? ready("True", "GPUsAccessible",
                              "All discovered GPUs are accessible and the driver is healthy.")
                      : ready("False", "GPUUnhealthy", "Unhealthy GPUs: " + sick);
}

}  // namespace athanor::das
