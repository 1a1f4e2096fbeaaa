// SPDX-License-Identifier: Apache-2.0
#include "fake_nvml/broken_driver.hpp"

#include <dlfcn.h>
#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <set>

#include "base/check.hpp"
#include "kube/text/json.hpp"
#include "systems/das/agent/device_list.hpp"
#include "systems/das/gpus/inventory.hpp"
#include "systems/das/makers/vendor.hpp"
#include "systems/das/slices/slots.hpp"

namespace athanor::fake_nvml {
namespace {

bool printable(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~'; });
}

bool on_a_gpu(int start, int size) {
  return das::mask_of(start, size) != 0;
}

std::string flaw_of_gpu(const das::FoundGpu& gpu) {
  if (gpu.uuid.empty() || !printable(gpu.uuid) || gpu.uuid.find(',') != std::string::npos) {
    return fmt::format("a UUID is \"{}\"", gpu.uuid);
  }
  if (gpu.name.empty() || !printable(gpu.name) || !printable(gpu.pci_bus_id)) {
    return fmt::format("{} is called \"{}\" at \"{}\"", gpu.uuid, gpu.name, gpu.pci_bus_id);
  }
  if (gpu.memory_bytes <= 0 || gpu.numa_node < -1 || gpu.table.slots > das::kMostSlots) {
    return fmt::format("{} has {} bytes, node {}, {} slots", gpu.uuid, gpu.memory_bytes,
                       gpu.numa_node, gpu.table.slots);
  }
  for (const das::MigProfile& profile : gpu.table.profiles) {
    const bool inside = std::ranges::all_of(
        profile.starts, [&](int start) { return on_a_gpu(start, profile.size); });
    if (!inside || profile.starts.empty() || profile.most < 1 || profile.most > das::kMostSlots ||
        profile.memory_mib <= 0) {
      return fmt::format("profile {}: {} of {} slots, {} MiB", profile.name, profile.most,
                         profile.size, profile.memory_mib);
    }
  }
  return {};
}

// What is published of it is JSON, and the kubelet is offered no more than GPUs can hold.
std::string flaw_of_publication(const das::Discovery& found) {
  const Value resources = das::node_resources(found, {}, "boot");
  if (!json::parse(json::print(resources)).ok()) {
    return "what is published is no JSON";
  }
  const std::size_t most = found.gpus.size() * static_cast<std::size_t>(das::kMostSlots);
  for (const das::DeviceList& list :
       das::device_lists(resources, *das::find_vendor(das::kNvidiaMig))) {
    if (list.devices.size() > most) {
      return fmt::format("{} devices of {}", list.devices.size(), list.profile);
    }
  }
  return {};
}

std::string flaw_of_look(agent::GpuDriver& driver) {
  const auto found = driver.discover();
  if (found.ok()) {
    return flaw_of(*found);
  }
  return printable(found.error().message) ? "" : "an error is not printable";
}

std::string try_slices(agent::GpuDriver& driver, const das::FoundGpu& gpu) {
  for (const das::MigProfile& profile : gpu.table.profiles) {
    const auto made = driver.create({.gpu = gpu.uuid,
                                     .profile = profile.name,
                                     .gi_profile = profile.gi_profile,
                                     .ci_profile = profile.ci_profile,
                                     .start = profile.starts.front(),
                                     .size = profile.size});
    if (made.ok() && (!made->starts_with("MIG-") || !printable(*made))) {
      return fmt::format("a slice is called \"{}\"", *made);
    }
    if (std::string flaw = flaw_of_look(driver); !flaw.empty()) {
      return flaw;
    }
    static_cast<void>(driver.destroy({.gpu = gpu.uuid,
                                      .start = profile.starts.front(),
                                      .size = profile.size,
                                      .device = made.ok() ? *made : std::string()}));
  }
  return {};
}

// What was made under wrong answers can be taken away, and a slice fits on every GPU again.
std::string flaw_of_recovery(agent::GpuDriver& driver, const das::Discovery& found) {
  for (const das::FoundSlice& slice : found.slices) {
    if (const auto done =
            driver.destroy({.gpu = slice.gpu, .start = slice.start, .size = slice.size});
        !done.ok()) {
      return "a slice stays: " + done.error().message;
    }
  }
  for (const das::FoundGpu& gpu : found.gpus) {
    const das::MigProfile& profile = gpu.table.profiles.front();
    const auto made = driver.create({.gpu = gpu.uuid,
                                     .profile = profile.name,
                                     .gi_profile = profile.gi_profile,
                                     .ci_profile = profile.ci_profile,
                                     .start = profile.starts.front(),
                                     .size = profile.size});
    const auto gone = made.ok() ? driver.destroy({.gpu = gpu.uuid,
                                                  .start = profile.starts.front(),
                                                  .size = profile.size,
                                                  .device = *made})
                                : Result<void>(made.error());
    if (!gone.ok()) {
      return "no slice on " + gpu.uuid + " afterwards: " + gone.error().message;
    }
  }
  return {};
}

}  // namespace

void answer_by(const char* library, std::string_view bytes) {
  // Stays loaded: what it was told lasts from one driver to the next.
  static void* const kLoaded = ::dlopen(library, RTLD_NOW | RTLD_LOCAL);
  ATHANOR_CHECK(kLoaded != nullptr, "the fake library can be loaded");
  void* const function = ::dlsym(kLoaded, "fakeNvmlHostile");
  ATHANOR_CHECK(function != nullptr, "it is the fake one");
  std::bit_cast<void (*)(const char*, unsigned int)>(function)(
      bytes.data(), static_cast<unsigned int>(bytes.size()));
}

std::string flaw_of(const das::Discovery& found) {
  std::set<std::string> uuids;
  for (const das::FoundGpu& gpu : found.gpus) {
    if (std::string flaw = flaw_of_gpu(gpu); !flaw.empty()) {
      return flaw;
    }
    if (!uuids.insert(gpu.uuid).second) {
      return "two GPUs have one UUID";
    }
  }
  for (const das::FoundSlice& slice : found.slices) {
    if (!uuids.contains(slice.gpu) || !on_a_gpu(slice.start, slice.size) ||
        !(slice.device.empty() || slice.device.starts_with("MIG-")) || !printable(slice.device)) {
      return fmt::format("a slice \"{}\" of {} slots at {}", slice.device, slice.size, slice.start);
    }
  }
  return flaw_of_publication(found);
}

std::string live_with(const char* library, std::string_view bytes) {
  answer_by(library, {});
  auto opened = agent::open_nvml(library);
  if (!opened.ok()) {
    return opened.error().message;
  }
  agent::GpuDriver& driver = **opened;
  // A driver that has known its GPUs before, and one that meets them so.
  if (!bytes.empty() && bytes.front() % 2 == 0) {
    static_cast<void>(driver.discover());
  }
  answer_by(library, bytes.substr(std::min<std::size_t>(1, bytes.size())));
  for (int i = 0; i < 2; ++i) {
    if (std::string flaw = flaw_of_look(driver); !flaw.empty()) {
      return flaw;
    }
  }
  if (const auto known = driver.discover(); known.ok() && !known->gpus.empty()) {
    if (std::string flaw = try_slices(driver, known->gpus.front()); !flaw.empty()) {
      return flaw;
    }
  }
  answer_by(library, {});
  const auto found = driver.discover();
  if (!found.ok()) {
    return "right answers are refused: " + found.error().message;
  }
  if (std::ranges::count(found->gpus, true, &das::FoundGpu::healthy) < 2) {
    return "a GPU stays unhealthy though all is well";
  }
  std::string flaw = flaw_of(*found);
  return flaw.empty() ? flaw_of_recovery(driver, *found) : flaw;
}

}  // namespace athanor::fake_nvml
