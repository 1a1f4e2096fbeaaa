// SPDX-License-Identifier: Apache-2.0
#include "agent/nvml/discover.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "agent/nvml/library.hpp"
#include "base/log.hpp"
#include "systems/das/slices/profile.hpp"
#include "systems/das/slices/slots.hpp"

namespace athanor::agent::nvml {
namespace {

constexpr unsigned int kMostProfiles = 64;  // NVML numbers 18 today, and ends with InvalidArgument
constexpr unsigned int kMostProfileId = 1U << 16U;  // nvidia-smi's numbers are below 100
constexpr unsigned int kMostPlacements = 64;
constexpr unsigned int kMostInstances = 64;
constexpr unsigned int kMostGpus = 256;  // a node has 16 at most
constexpr std::int64_t kMib = std::int64_t{1} << 20;
constexpr unsigned long long kMostMemory = 1ULL << 50;
constexpr int kNotFound = 404;

Error absurd(const std::string& call, const std::string& what) {
  return {.code = 500, .reason = "NvmlError", .message = fmt::format("{}: {}", call, what)};
}

// The compute-instance profile over all of a GPU instance with this many compute slices
// (docs/spec/das.md 4.4).
int whole_compute_profile(unsigned int slices) {
  switch (slices) {
    case 1:
      return 0;
    case 2:
      return 1;
    case 3:
      return 2;
    case 4:
      return 3;
    case 6:
      return 6;
    case 7:
      return 4;
    case 8:
      return 5;
    default:
      return -1;
  }
}

template <class Read>
Result<std::string> text_of(const Calls& nvml, Device device, const Read& read, const char* call,
                            bool (*allowed)(char)) {
  std::array<char, kUuidSize + 1> text{};
  if (const Return code = read(device, text.data(), kUuidSize); code != Success) {
    return error_of(nvml, code, fmt::format("{}: ", call));
  }
  std::string answer(text.data());
  if (answer.empty() || !std::ranges::all_of(answer, allowed)) {
    return absurd(call, "the text is empty or unprintable");
  }
  return answer;
}

// UUIDs go into lists and into variables of containers.
bool names_device(char c) {
  return c > ' ' && c <= '~' && c != ',' && c != '"' && c != '=';
}
bool is_printable(char c) {
  return c >= ' ' && c <= '~';
}

// Returns true if the slots lie on a GPU.
bool is_place(const Placement& place) {
  constexpr unsigned int kSlots = das::kMostSlots;
  return place.size >= 1 && place.size <= kSlots && place.start <= kSlots - place.size;
}

Result<das::MigTable> read_profiles(const Calls& nvml, Device device, const das::FoundGpu& gpu) {
  das::MigTable table;
  for (unsigned int i = 0; i < kMostProfiles; ++i) {
    GpuInstanceProfile info{};
    Return code = nvml.gi_profile(device, i, &info);
    if (code == InvalidArgument) {
      break;
    }
    if (code == NotSupported) {
      continue;
    }
    if (code != Success) {
      return error_of(nvml, code, fmt::format("nvmlDeviceGetGpuInstanceProfileInfo {}: ", i));
    }
    std::array<Placement, kMostPlacements> places{};
    unsigned int count = kMostPlacements;
    code = nvml.gi_placements(device, info.id, places.data(), &count);
    if (code != Success) {
      return error_of(nvml, code,
                      fmt::format("nvmlDeviceGetGpuInstancePossiblePlacements {}: ", info.id));
    }
    const int compute = whole_compute_profile(info.slice_count);
    if (compute < 0 || info.instance_count == 0) {
      continue;
    }
    if (const auto total = static_cast<unsigned long long>(gpu.memory_bytes / kMib);
        info.memory_size_mb == 0 || info.memory_size_mb > total ||
        info.instance_count > das::kMostSlots) {
      return absurd(fmt::format("nvmlDeviceGetGpuInstanceProfileInfo {}", i),
                    fmt::format("{} instances of {} MiB on a GPU of {} MiB", info.instance_count,
                                info.memory_size_mb, total));
    }
    das::MigProfile profile{
        .name = das::derive_profile({.compute = static_cast<int>(info.slice_count),
                                     .memory_mib = static_cast<std::int64_t>(info.memory_size_mb),
                                     .gpu_total_mib = gpu.memory_bytes / kMib,
                                     .gi_profile = static_cast<int>(i)}),
        .compute = static_cast<int>(info.slice_count),
        .most = static_cast<int>(info.instance_count),
        .gi_profile = static_cast<int>(i),
        .ci_profile = compute,
        .memory_mib = static_cast<std::int64_t>(info.memory_size_mb),
        .smi_id = static_cast<int>(std::min(info.id, kMostProfileId))};
    for (unsigned int p = 0; p < std::min(count, kMostPlacements); ++p) {
      const bool same = profile.size == 0 || profile.size == static_cast<int>(places[p].size);
      if (is_place(places[p]) && same) {
        profile.size = static_cast<int>(places[p].size);
        profile.starts.push_back(static_cast<int>(places[p].start));
      }
    }
    if (!profile.starts.empty() && table.find(profile.name) < 0) {
      table.add(std::move(profile));
    }
  }
  table.slots = das::slots_of(table);
  return table;
}

void read_place(const Calls& nvml, Device device, das::FoundGpu& gpu) {
  if (PciInfo pci{}; nvml.pci_info != nullptr && nvml.pci_info(device, &pci) == Success) {
    pci.bus_id[sizeof(pci.bus_id) - 1] = '\0';
    const std::string bus = pci.bus_id;
    gpu.pci_bus_id = std::ranges::all_of(bus, is_printable) ? bus : "";
  }
  constexpr unsigned int kWords = 4;
  std::array<unsigned long, kWords> nodes{};
  if (nvml.memory_affinity == nullptr ||
      nvml.memory_affinity(device, kWords, nodes.data(), kNodeScope) != Success) {
    return;
  }
  constexpr int kBits = 64;
  for (int bit = 0; bit < kBits * static_cast<int>(kWords); ++bit) {
    if ((nodes.at(static_cast<std::size_t>(bit / kBits)) >> (bit % kBits) & 1U) != 0) {
      gpu.numa_node = gpu.numa_node < 0 ? bit : -2;  // of several: none
    }
  }
  gpu.numa_node = std::max(gpu.numa_node, -1);
}

Result<das::FoundGpu> read_gpu(const Calls& nvml, Device device, int index, bool whole) {
  das::FoundGpu gpu{.index = index, .whole = whole};
  ATHANOR_TRY(gpu.uuid, text_of(nvml, device, nvml.device_uuid, "nvmlDeviceGetUUID", names_device));
  ATHANOR_TRY(gpu.name, text_of(nvml, device, nvml.device_name, "nvmlDeviceGetName", is_printable));
  Memory memory{};
  if (const Return code = nvml.memory_info(device, &memory); code != Success) {
    return error_of(nvml, code, "nvmlDeviceGetMemoryInfo: ");
  }
  if (memory.total < kMib || memory.total > kMostMemory) {
    return absurd("nvmlDeviceGetMemoryInfo", fmt::format("{} bytes of memory", memory.total));
  }
  gpu.memory_bytes = static_cast<std::int64_t>(memory.total);
  read_place(nvml, device, gpu);
  auto profiles = read_profiles(nvml, device, gpu);
  if (whole) {
    // Drivers answer without MIG mode, too; the GPU is usable without the answer.
    gpu.offered = std::move(profiles).value_or({});
    return gpu;
  }
  ATHANOR_TRY(gpu.table, std::move(profiles));
  return gpu;
}

Result<void> read_slices(const Calls& nvml, Device device, const das::FoundGpu& gpu,
                         std::vector<das::FoundSlice>& slices) {
  ATHANOR_TRY(const auto instances, instances_of(nvml, device));
  for (const Instance& one : instances) {
    das::FoundSlice slice{.gpu = gpu.uuid, .start = one.start, .size = one.size};
    if (!one.computes.empty()) {
      // A record whose slice is not found is forgotten: what cannot be read is no absence.
      auto name = name_of(nvml, device, one.handle, one.computes.front());
      if (!name.ok() && name.error().code != kNotFound) {
        return std::move(name).error();
      }
      slice.device = name.value_or("");
    }
    slices.push_back(std::move(slice));
  }
  return {};
}

bool has(const std::vector<das::FoundGpu>& gpus, std::string_view uuid) {
  return std::ranges::find(gpus, uuid, &das::FoundGpu::uuid) != gpus.end();
}

// Keeps known GPUs that the driver no longer reports: they hold claims until the agent starts
// again.
void keep_vanished(const std::vector<das::FoundGpu>& known, std::vector<das::FoundGpu>& gpus) {
  for (const das::FoundGpu& before : known) {
    const bool there = std::ranges::any_of(gpus, [&](const das::FoundGpu& gpu) {
      return gpu.uuid == before.uuid || gpu.index == before.index;
    });
    if (!there) {
      gpus.push_back(before);
      gpus.back().healthy = false;
      gpus.back().lost = true;
    }
  }
  std::ranges::stable_sort(gpus, {}, &das::FoundGpu::index);
}

}  // namespace

Result<das::Discovery> discover(const Calls& nvml, const std::vector<das::FoundGpu>& known) {
  das::Discovery found;
  unsigned int count = 0;
  if (const Return code = nvml.device_count(&count); code != Success) {
    return error_of(nvml, code, "nvmlDeviceGetCount: ");
  }
  if (count > kMostGpus) {
    return absurd("nvmlDeviceGetCount", fmt::format("{} GPUs", count));
  }
  for (unsigned int i = 0; i < count; ++i) {
    // A GPU that was known before stays, unhealthy; one that is lost at the first look is left out,
    // since the others are usable.
    const auto before = std::ranges::find(known, static_cast<int>(i), &das::FoundGpu::index);
    const auto fail = [&](Error error) -> Result<void> {
      if (before == known.end()) {
        if (error.reason != "GpuIsLost") {
          return error;
        }
        log::warn("a GPU is left out until it returns",
                  {{"gpu", std::to_string(i)}, {"error", error.message}});
        return {};
      }
      if (!has(found.gpus, before->uuid)) {
        found.gpus.push_back(*before);
        found.gpus.back().healthy = false;
        found.gpus.back().lost = error.reason == "GpuIsLost";
      }
      return {};
    };
    Device device = nullptr;
    if (const Return code = nvml.device_by_index(i, &device); code != Success) {
      ATHANOR_TRY_VOID(
          fail(error_of(nvml, code, fmt::format("nvmlDeviceGetHandleByIndex {}: ", i))));
      continue;
    }
    unsigned int current = 0;
    unsigned int pending = 0;
    const Return mode = nvml.mig_mode(device, &current, &pending);
    const bool whole = mode == NotSupported || (mode == Success && current != kMigEnabled);
    if (!whole && mode != Success) {
      ATHANOR_TRY_VOID(fail(error_of(nvml, mode, fmt::format("nvmlDeviceGetMigMode {}: ", i))));
      continue;
    }
    auto gpu = read_gpu(nvml, device, static_cast<int>(i), whole);
    if (!gpu.ok()) {
      ATHANOR_TRY_VOID(fail(gpu.error().with_context(fmt::format("GPU {}", i))));
      continue;
    }
    if (has(found.gpus, gpu->uuid)) {
      ATHANOR_TRY_VOID(
          fail(absurd("nvmlDeviceGetUUID", fmt::format("GPU {} has another's UUID", i))));
      continue;
    }
    std::vector<das::FoundSlice> slices;
    if (const auto read = whole ? Result<void>() : read_slices(nvml, device, *gpu, slices);
        !read.ok()) {
      ATHANOR_TRY_VOID(fail(read.error().with_context(fmt::format("GPU {}", i))));
      continue;
    }
    std::ranges::move(slices, std::back_inserter(found.slices));
    found.gpus.push_back(*std::move(gpu));
  }
  keep_vanished(known, found.gpus);
  return found;
}

namespace {

Result<void> read_computes(const Calls& nvml, Instance& instance) {
  for (unsigned int i = 0; i < kMostProfiles; ++i) {
    ComputeInstanceProfile profile{};
    const Return known = nvml.ci_profile(instance.handle, i, 0, &profile);
    if (known == InvalidArgument || known == NotFound) {
      break;
    }
    if (known == NotSupported) {
      continue;
    }
    if (known != Success) {
      return error_of(nvml, known, "nvmlGpuInstanceGetComputeInstanceProfileInfo: ");
    }
    std::array<ComputeInstance, kMostInstances> handles{};
    unsigned int count = 0;
    const Return listed = nvml.list_ci(instance.handle, profile.id, handles.data(), &count);
    if (listed != Success && listed != NotFound && listed != NotSupported) {
      return error_of(nvml, listed, "nvmlGpuInstanceGetComputeInstances: ");
    }
    if (listed == Success) {
      instance.computes.insert(instance.computes.end(), handles.begin(),
                               handles.begin() + std::min(count, kMostInstances));
    }
  }
  return {};
}

}  // namespace

Result<std::vector<Instance>> instances_of(const Calls& nvml, Device device) {
  std::vector<Instance> instances;
  for (unsigned int i = 0; i < kMostProfiles; ++i) {
    GpuInstanceProfile profile{};
    const Return code = nvml.gi_profile(device, i, &profile);
    if (code == InvalidArgument) {
      break;
    }
    if (code == NotSupported) {
      continue;
    }
    if (code != Success) {
      return error_of(nvml, code, fmt::format("nvmlDeviceGetGpuInstanceProfileInfo {}: ", i));
    }
    std::array<GpuInstance, kMostInstances> handles{};
    unsigned int count = 0;
    if (const Return listed = nvml.list_gi(device, profile.id, handles.data(), &count);
        listed != Success) {
      return error_of(nvml, listed, "nvmlDeviceGetGpuInstances: ");
    }
    for (unsigned int g = 0; g < std::min(count, kMostInstances); ++g) {
      GpuInstanceInfo info{};
      const Return read = nvml.gi_info(handles.at(g), &info);
      if (read == NotFound || read == InvalidArgument) {
        continue;  // gone meanwhile
      }
      if (read != Success) {
        return error_of(nvml, read, "nvmlGpuInstanceGetInfo: ");
      }
      if (!is_place(info.placement)) {
        return absurd("nvmlGpuInstanceGetInfo",
                      fmt::format("an instance of {} slots from {} on", info.placement.size,
                                  info.placement.start));
      }
      Instance instance{.handle = handles.at(g),
                        .start = static_cast<int>(info.placement.start),
                        .size = static_cast<int>(info.placement.size)};
      ATHANOR_TRY_VOID(read_computes(nvml, instance));
      instances.push_back(std::move(instance));
    }
  }
  return instances;
}

Result<std::string> name_of(const Calls& nvml, Device device, GpuInstance instance,
                            ComputeInstance compute) {
  ComputeInstanceInfo info{};
  if (const Return code = nvml.ci_info(compute, &info); code != Success) {
    return error_of(nvml, code, "get compute instance info: ");
  }
  if (auto own = text_of(nvml, info.device, nvml.device_uuid, "get MIG device UUID", names_device);
      own.ok() && own->starts_with("MIG-")) {
    return own;
  }
  GpuInstanceInfo gpu_instance{};
  if (const Return code = nvml.gi_info(instance, &gpu_instance); code != Success) {
    return error_of(nvml, code, "get GPU instance info: ");
  }
  unsigned int count = 0;
  if (const Return code = nvml.mig_count(device, &count); code != Success) {
    return error_of(nvml, code, "get MIG device count: ");
  }
  bool failed = false;  // a device could not be looked at: it may be the one
  for (unsigned int i = 0; i < std::min(count, kMostInstances); ++i) {
    Device mig = nullptr;
    unsigned int gi_id = 0;
    unsigned int ci_id = 0;
    Return code = nvml.mig_by_index(device, i, &mig);
    code = code != Success ? code : nvml.mig_gi_id(mig, &gi_id);
    code = code != Success ? code : nvml.mig_ci_id(mig, &ci_id);
    failed = failed || (code != Success && code != NotFound && code != InvalidArgument);
    if (code == Success && gi_id == gpu_instance.id && ci_id == info.id) {
      auto name = text_of(nvml, mig, nvml.device_uuid, "get MIG device UUID", names_device);
      return !name.ok() || name->starts_with("MIG-")
                 ? name
                 : absurd("get MIG device UUID", fmt::format("{} is no MIG device", *name));
    }
  }
  const char* const message = "matching MIG device not found";
  return failed ? Error{.code = 500, .reason = "NvmlError", .message = message}
                : Error::not_found(message);
}

}  // namespace athanor::agent::nvml
