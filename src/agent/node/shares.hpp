// SPDX-License-Identifier: Apache-2.0
// Shares of whole GPUs beside slices: the same claims' life, but nothing is made on the GPU.
#pragma once

#include <memory>
#include <string>

#include "agent/node/gpu_modes.hpp"
#include "agent/node/slices.hpp"

namespace athanor::agent {

struct ShareOptions {
  const GpuModes* modes = nullptr;  // outlives it; null: emulated
  bool uuids = true;                // else every GPU is called "test"
};

// Returns Slices that handle claims of shares, and leave all others to `slices`.
std::unique_ptr<Slices> with_shares(std::unique_ptr<Slices> slices, const ShareOptions& options);

}  // namespace athanor::agent
