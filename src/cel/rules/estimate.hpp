// SPDX-License-Identifier: Apache-2.0
// The most that an expression can cost, from the sizes that its types allow: what rules of a CRD
// are refused for (docs/spec/apiserver.md 13.5, cost limits).
#pragma once

#include <cstdint>

#include "cel/program.hpp"

namespace athanor::cel {

// Saturates at 2^64 - 1.
std::uint64_t estimate_cost(const Program& program);

// Returns the product or the sum; 2^64 - 1 when it is larger.
inline std::uint64_t saturating_product(std::uint64_t a, std::uint64_t b) {
  std::uint64_t result = 0;
  return __builtin_mul_overflow(a, b, &result) ? UINT64_MAX : result;
}
inline std::uint64_t saturating_sum(std::uint64_t a, std::uint64_t b) {
  std::uint64_t result = 0;
  return __builtin_add_overflow(a, b, &result) ? UINT64_MAX : result;
}

}  // namespace athanor::cel
