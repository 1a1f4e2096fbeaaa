// SPDX-License-Identifier: Apache-2.0
// Shows that work grows with its size and not with the square of it.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>

namespace athanor::test {

// `work(n)` returns what to measure, made for that size. Four times the size takes four times as
// long, sixteen times if each part looks at all others.
template <class Work>
void expect_linear(const Work& work, std::size_t small = 8'000) {
  constexpr std::size_t kFactor = 4;
  constexpr double kMost = 10;
  const auto time_of = [&](std::size_t size) {
    const auto measured = work(size);
    const auto start = std::chrono::steady_clock::now();
    measured();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  double best = 1e9;
  for (int attempt = 0; attempt < 3 && best > kMost; ++attempt) {
    const double once = time_of(small) + 0.003;  // what is too short to be measured
    best = std::min(best, time_of(small * kFactor) / once);
  }
  EXPECT_LT(best, kMost);
}

}  // namespace athanor::test
