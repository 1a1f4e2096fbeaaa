// SPDX-License-Identifier: Apache-2.0
// Hashes of Values, for tables that find equal ones among many.
#pragma once

#include <cstddef>

#include "kube/value/value.hpp"

namespace athanor {

// Returns the same number for equal values, whatever the order of members and the type of numbers.
[[nodiscard]] std::size_t hash_of(const Value& value) noexcept;

struct ValueHash {
  std::size_t operator()(const Value& value) const noexcept { return hash_of(value); }
};

}  // namespace athanor
