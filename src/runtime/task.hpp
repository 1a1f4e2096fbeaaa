// SPDX-License-Identifier: Apache-2.0
// Small vocabulary of the engine's parts.
#pragma once

#include <cstdint>

namespace athanor::runtime {

// One key of one operator; numbers are given in order of first use and never reused.
using TaskId = std::uint64_t;

enum class Priority : std::uint8_t { Interactive, Resync };

}  // namespace athanor::runtime
