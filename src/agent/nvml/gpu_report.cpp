// SPDX-License-Identifier: Apache-2.0
#include "agent/nvml/gpu_report.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

namespace athanor::agent::nvml {
namespace {

constexpr std::int64_t kBytesPerMib = std::int64_t{1} << 20;

std::string place_of(const das::FoundGpu& gpu) {
  std::string place = gpu.pci_bus_id.empty() ? "" : fmt::format("PCI {}, ", gpu.pci_bus_id);
  if (gpu.numa_node >= 0) {
    place += fmt::format("NUMA node {}, ", gpu.numa_node);
  }
  return fmt::format("{}{} MiB, {}", place, gpu.memory_bytes / kBytesPerMib,
                     gpu.healthy ? "healthy" : "unhealthy");
}

std::string profile_list(const das::MigTable& table) {
  std::string text;
  for (const das::MigProfile& profile : table.profiles) {
    text += fmt::format("{}{} at {}", text.empty() ? "" : "; ", profile.name,
                        fmt::join(profile.starts, ","));
  }
  return text;
}

Value profile_values(const das::MigTable& table) {
  Value profiles = Value::list();
  for (const das::MigProfile& profile : table.profiles) {
    Value starts = Value::list();
    for (const int start : profile.starts) {
      starts.push_back(start);
    }
    profiles.push_back(Value::object(
        {{"name", profile.name}, {"size", profile.size}, {"starts", std::move(starts)}}));
  }
  return profiles;
}

std::string slice_line(const das::FoundSlice& slice) {
  return fmt::format("  slice at slot {}, {} slot{}: {}\n", slice.start, slice.size,
                     slice.size == 1 ? "" : "s",
                     slice.device.empty() ? "no compute instance" : slice.device);
}

}  // namespace

std::string report_text(const das::Discovery& found) {
  if (found.gpus.empty()) {
    return "The driver reports no GPU.\n";
  }
  std::string text;
  for (const das::FoundGpu& gpu : found.gpus) {
    text += fmt::format("GPU {}: {}, {}\n  {}\n", gpu.index, gpu.name, gpu.uuid, place_of(gpu));
    if (gpu.whole && !gpu.offered.profiles.empty()) {
      text += fmt::format(
          "  MIG is disabled: no slices. The GPU can be shared as a whole; `nvidia-smi -i {} -mig "
          "1` enables MIG, and offers {}\n",
          gpu.index, profile_list(gpu.offered));
      continue;
    }
    if (gpu.whole) {
      text += fmt::format(
          "  MIG is disabled or not supported: no slices. The GPU can be shared as a whole; where "
          "it supports MIG, `nvidia-smi -i {} -mig 1` enables it\n",
          gpu.index);
      continue;
    }
    text += fmt::format("  MIG is enabled: {}\n", profile_list(gpu.table));
    bool sliced = false;
    for (const das::FoundSlice& slice : found.slices) {
      if (slice.gpu == gpu.uuid) {
        text += slice_line(slice);
        sliced = true;
      }
    }
    text += sliced ? "" : "  no slices\n";
  }
  return text;
}

Value report_json(const das::Discovery& found) {
  Value gpus = Value::list();
  for (const das::FoundGpu& gpu : found.gpus) {
    Value one = Value::object({{"index", gpu.index},
                               {"name", gpu.name},
                               {"uuid", gpu.uuid},
                               {"pciBusID", gpu.pci_bus_id},
                               {"memoryMiB", gpu.memory_bytes / kBytesPerMib},
                               {"healthy", gpu.healthy},
                               {"migEnabled", !gpu.whole}});
    if (gpu.numa_node >= 0) {
      one.set("numaNode", gpu.numa_node);
    }
    one.set("profiles", profile_values(gpu.whole ? gpu.offered : gpu.table));
    Value slices = Value::list();
    for (const das::FoundSlice& slice : found.slices) {
      if (slice.gpu != gpu.uuid) {
        continue;
      }
      Value shown = Value::object({{"start", slice.start}, {"size", slice.size}});
      if (!slice.device.empty()) {
        shown.set("uuid", slice.device);
      }
      slices.push_back(std::move(shown));
    }
    one.set("slices", std::move(slices));
    gpus.push_back(std::move(one));
  }
  return Value::object({{"gpus", std::move(gpus)}});
}

}  // namespace athanor::agent::nvml
