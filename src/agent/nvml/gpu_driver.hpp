// SPDX-License-Identifier: Apache-2.0
// The GPUs of a node as the agent works with them: one small interface over NVML.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "base/time.hpp"
#include "systems/das/agent/discovery.hpp"

namespace athanor::agent {

// A slice to be made.
struct SliceOrder {
  std::string gpu{};  // UUID
  std::string profile{};
  int gi_profile = 0;  // NVML_GPU_INSTANCE_PROFILE_*
  int ci_profile = 0;
  int start = 0;
  int size = 0;
};

// Reasons of errors: NotFound, InUse, InsufficientResources, GpuIsLost, else NvmlError.
// Thread-safe; calls for one GPU come one at a time.
class GpuDriver {
 public:
  virtual ~GpuDriver() = default;
  // Finds the GPUs; of those with MIG enabled their profiles and all instances. A GPU that was
  // found before and fails now is there, unhealthy.
  virtual Result<das::Discovery> discover() = 0;
  // Makes a GPU instance with one compute instance over all of it and returns its MIG UUID. After a
  // failure nothing of it is left.
  virtual Result<std::string> create(const SliceOrder& order) = 0;
  // Destroys the compute instance, then the GPU instance. What is gone already counts as destroyed.
  virtual Result<void> destroy(const std::string& device) = 0;
  // Destroys the instance at this place, whatever its device; likewise.
  virtual Result<void> destroy_at(const std::string& gpu, int start, int size) = 0;
  // Waits for an event that calls for a new discovery: a critical Xid, after which its GPU is
  // unhealthy, or a change of MIG's configuration. False: none within `patience`, or the driver
  // reports no events.
  virtual bool wait_for_event(Duration patience) = 0;
};

// Loads NVML ("libnvidia-ml.so.1" or a path) and starts it. Errors: no such library, a call that it
// lacks, no driver.
Result<std::unique_ptr<GpuDriver>> open_nvml(const std::string& library);

}  // namespace athanor::agent
