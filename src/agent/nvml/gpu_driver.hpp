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

// Where a slice is, or was.
struct SlicePlace {
  std::string gpu{};  // UUID
  int start = 0;
  int size = 0;
  std::string device{};  // MIG UUID of its compute instance; empty: any
};

// Reasons of errors: NotFound, InUse, InsufficientResources, GpuIsLost, else NvmlError.
// Thread-safe; calls for one GPU come one at a time.
class GpuDriver {
 public:
  virtual ~GpuDriver() = default;
  // Finds the GPUs; of those with MIG enabled their profiles and all instances. A GPU that was
  // found before and fails now is there, unhealthy.
  virtual Result<das::Discovery> discover() = 0;
  // Returns true if no instance is at exactly this place.
  virtual Result<bool> is_free(const SlicePlace& place) = 0;
  // Makes a GPU instance with one compute instance over all of it and returns its MIG UUID. A
  // failure with InsufficientResources made nothing; any other one may leave an instance at the
  // place, if destroying that failed, too.
  virtual Result<std::string> create(const SliceOrder& order) = 0;
  // Destroys the instance at this place: compute instances, then the GPU instance. Succeeds only
  // when NVML shows the place without it. An instance whose compute instances have other devices
  // is another program's and stays.
  virtual Result<void> destroy(const SlicePlace& place) = 0;
  // Waits for an event that calls for a new discovery: a critical Xid, after which its GPU is
  // unhealthy, or a change of MIG's configuration. False: none within `patience`, or the driver
  // reports no events.
  virtual bool wait_for_event(Duration patience) = 0;
};

// Loads NVML ("libnvidia-ml.so.1" or a path) and starts it. Errors: no such library, a call that it
// lacks, no driver.
Result<std::unique_ptr<GpuDriver>> open_nvml(const std::string& library);

}  // namespace athanor::agent
