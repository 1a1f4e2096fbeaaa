// SPDX-License-Identifier: Apache-2.0
// Sums and products of numbers that come from outside.
#pragma once

#include <cstdint>
#include <limits>

namespace athanor {

// Returns a + b; beyond the range of the type, its nearest end.
constexpr std::int64_t saturating_add(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  if (!__builtin_add_overflow(a, b, &sum)) {
    return sum;
  }
  using Limits = std::numeric_limits<std::int64_t>;
  return a < 0 ? Limits::min() : Limits::max();
}

// Returns a * b; beyond the range of the type, its nearest end.
constexpr std::int64_t saturating_multiply(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  if (!__builtin_mul_overflow(a, b, &product)) {
    return product;
  }
  using Limits = std::numeric_limits<std::int64_t>;
  return (a < 0) == (b < 0) ? Limits::max() : Limits::min();
}

}  // namespace athanor
