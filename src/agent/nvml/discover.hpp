// SPDX-License-Identifier: Apache-2.0
// Reading GPUs, profiles and instances through NVML (docs/spec/das.md 4.4, 8.2).
#pragma once

#include <string>
#include <vector>

#include "agent/nvml/nvml_abi.hpp"
#include "base/result.hpp"
#include "systems/das/agent/discovery.hpp"

namespace athanor::agent::nvml {

// A GPU instance at its place, in memory slices.
struct Instance {
  GpuInstance handle = nullptr;
  int start = 0;
  int size = 0;
  std::vector<ComputeInstance> computes{};
};

// Reads the GPUs and their slices. `known`: the GPUs of the look before; one of them that is lost
// now stays in the result, unhealthy. A lost GPU that is not in `known` is left out. Errors name
// the call.
Result<das::Discovery> discover(const Calls& nvml, const std::vector<das::FoundGpu>& known);
// Returns all instances of a GPU, also those that others made. Errors name the call.
Result<std::vector<Instance>> instances_of(const Calls& nvml, Device device);
// Returns the MIG UUID of a compute instance: of its own device handle where the library gives
// that, else of the MIG device with its ids.
Result<std::string> name_of(const Calls& nvml, Device device, GpuInstance instance,
                            ComputeInstance compute);

}  // namespace athanor::agent::nvml
