// SPDX-License-Identifier: Apache-2.0
// A node's GPUs as DRA sees them: ResourceSlices with counters, and DeviceClasses
// (docs/spec/das.md 15.1). Pure: the agent of real nodes and the emulated one publish with it.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "kube/value/value.hpp"
#include "systems/das/model/names.hpp"
#include "systems/das/slices/slots.hpp"
#include "systems/das/slices/tables.hpp"

namespace athanor::das {

// Domain of device attributes: NVIDIA's, whichever driver publishes the GPUs.
inline constexpr const char* kAttributeDomain = "gpu.nvidia.com";

// A GPU as DRA publishes it.
struct PublishedGpu {
  int minor = 0;
  std::string uuid{};
  const GpuModel* model = nullptr;
  SlotMask foreign = 0;  // slots of instances that DAS did not make: no device lies there
};
// A node whose GPUs DRA publishes.
struct PublishedNode {
  std::string name{};
  std::string uid{};
  std::string driver = kDraDriver;
  std::vector<PublishedGpu> gpus{};
};

// Returns "gpu-0"; the function below "gpu-0-mig-1g5gb-19-3".
std::string device_name(int minor);
// Returns the name for an instance of a profile; `start` is its first slot.
std::string device_name(int minor, const MigProfile& profile, int start);

// Returns the pool of a node: slices of counters first, then of devices. Names are the node's with
// driver and number. An allocator tries devices in that order: first those with most room left.
std::vector<Value> resource_slices(const PublishedNode& node, std::int64_t generation);

// Returns gpu.nvidia.com, which is also the extended resource nvidia.com/gpu, mig.nvidia.com, and
// one class for each profile, which is also the extended resource of that name.
std::vector<Value> device_classes(const std::set<std::string>& profiles);

}  // namespace athanor::das
