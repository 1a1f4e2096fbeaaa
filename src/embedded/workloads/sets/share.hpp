// SPDX-License-Identifier: Apache-2.0
// Numbers that may be given as shares: 2, or "25%".
#pragma once

#include <cstdint>

#include "kube/value/value.hpp"

namespace athanor::workloads {

// How a share that is no whole number is rounded.
enum class Rounding : std::uint8_t { Up, Down };
// Returns an integer as it is, "25%" as that share of `of`, rounded; 0 for anything else.
std::int64_t share(const Value& value, std::int64_t of, Rounding rounding);

}  // namespace athanor::workloads
