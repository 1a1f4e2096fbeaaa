// SPDX-License-Identifier: Apache-2.0
// The slots and shares of every GPU as people read them: who holds what, and what still fits.
#pragma once

#include <string>
#include <vector>

#include "systems/das/verb/gpu_states.hpp"

namespace athanor::das {

// Prints, in 80 columns, a line of slots per node and GPU, below it the claims by letter and what
// still fits; slots of instances that DAS did not make are marked with #. Shared GPUs have a line
// for each share that is held:
//
//   gpu-node  GPU 0  NVIDIA A100-PCIE-40GB  GPU-5a...
//     | A | B   B | . | . | . | . | . |
//     A  1g.5gb   ns/pod  inUse
//     fits  1g.5gb 4, 2g.10gb 1, 3g.20gb 1
//
//   gpu-node  GPU 1  NVIDIA A100-PCIE-40GB  GPU-7c...  timeslice: 1 of 4 shares held
//     0  ts.das.com/gpu  ns/other  inUse
//     fits  ts.das.com/gpu 3
//
// Claims that name an unknown GPU come last. Empty without nodes.
std::string slice_map(const GpuStates& states);

// Returns columns for GPUs: node, index, mode, held and all slots or shares, holders, health, UUID.
std::vector<std::string> gpu_header();
std::vector<std::string> gpu_row(const GpuState& gpu);

}  // namespace athanor::das
