// SPDX-License-Identifier: Apache-2.0
// Shares beside slices: the same claims' life. For those of whole GPUs nothing is made; a slice
// with shares is made for its first claim and destroyed with its last.
#pragma once

#include <memory>
#include <string>

#include "agent/node/gpu_modes.hpp"
#include "agent/node/slices.hpp"

namespace athanor::agent {

struct ShareOptions {
  GpuModes* modes = nullptr;  // outlives it; null: emulated
  bool uuids = true;          // else every GPU is called "test"
};

// Returns Slices that handle claims of shares, and leave all others to `slices`.
std::unique_ptr<Slices> with_shares(std::unique_ptr<Slices> slices, const ShareOptions& options);

}  // namespace athanor::agent
