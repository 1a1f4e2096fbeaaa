// SPDX-License-Identifier: Apache-2.0
// How work grows with its size.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>

namespace athanor {

// More than linear work takes longer than this for four times the size (quadratic: 16).
inline constexpr double kLinear = 10;

// Returns how many times as long `seconds_of` takes for four times `count`; the best of three tries
// where the first is not linear.
inline double growth(const std::function<double(std::size_t count)>& seconds_of,
                     std::size_t count) {
  constexpr double kNoise = 0.005;  // seconds
  constexpr std::size_t kFactor = 4;
  double best = 1e9;
  for (int attempt = 0; attempt < 3 && best > kLinear; ++attempt) {
    const double small = seconds_of(count) + kNoise;
    best = std::min(best, seconds_of(count * kFactor) / small);
  }
  return best;
}

}  // namespace athanor
