// SPDX-License-Identifier: Apache-2.0
// The search for any legal arrangement of several slices (docs/spec/das.md S-B14). Not for the
// common case: place() tries its policy first.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "systems/das/slices/placement.hpp"

namespace athanor::das {

// Finds an arrangement if one exists; GPUs are filled in `order`. The work is bounded by the number
// of GPUs times the number of different remaining demands.
std::optional<std::vector<PlacedSlice>> arrange(std::span<const GpuSlots> gpus,
                                                std::span<const std::string> profiles,
                                                const std::vector<std::size_t>& order);

}  // namespace athanor::das
