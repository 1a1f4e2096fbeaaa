// SPDX-License-Identifier: Apache-2.0
// Engines of a MIG instance besides compute and memory slices: what a GPU's partitions share as
// counters (docs/spec/das.md 15.1). Nominal numbers for emulated GPUs; of real ones NVML says.
#pragma once

#include <cstdint>

#include "systems/das/slices/tables.hpp"

namespace athanor::das {

// Counts of an instance's engines, and its memory in MiB.
struct Engines {
  int multiprocessors = 0;
  int copy = 0;
  int decoders = 0;
  int encoders = 0;
  int jpeg = 0;
  int ofa = 0;
  std::int64_t memory_mib = 0;
};
// Returns what one instance of the profile uses.
Engines engines_of(const GpuModel& model, const MigProfile& profile);
// Returns the maximum of each over all profiles.
Engines engines_of(const GpuModel& model);

}  // namespace athanor::das
