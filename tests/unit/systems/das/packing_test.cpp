// SPDX-License-Identifier: Apache-2.0
// The packing benchmark's model values (docs/spec/das.md 16.2, 16.3).
#include "support/packing/packing.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>

namespace athanor::das::packing_test {
namespace {

const Mix& mix_of(std::string_view name) {
  return *std::ranges::find(standard_mixes(), name, &Mix::name);
}

TEST(Packing, ReachesTheModelValues) {
  constexpr double kTolerance = 0.02;
  struct Expected {
    const char* name;
    std::array<PackingOutcome, 3> outcomes;  // by way
  };
  const Expected rows[] = {
      {"uniform", {{{0.920, 0.774}, {0.938, 0.832}, {0.963, 0.865}}}},
      {"small", {{{0.944, 0.782}, {0.960, 0.838}, {0.966, 0.840}}}},
      {"no7", {{{0.934, 0.806}, {0.948, 0.849}, {0.961, 0.868}}}},
  };
  for (const Expected& row : rows) {
    for (const Packing way : {Packing::SpreadFirstFit, Packing::FixedFirstFit, Packing::FragMin}) {
      const PackingOutcome& expected = row.outcomes[static_cast<std::size_t>(way)];
      const PackingOutcome found = play_arrivals(mix_of(row.name), way, 1);
      SCOPED_TRACE(std::string(row.name) + " " + std::to_string(static_cast<int>(way)) + ": " +
                   std::to_string(found.acceptance) + " / " + std::to_string(found.utilisation));
      EXPECT_GE(found.acceptance, expected.acceptance - kTolerance);
      EXPECT_GE(found.utilisation, expected.utilisation - kTolerance);
    }
  }
}

// The examples of docs/spec/das.md 16.2; counts of 1g, double-memory 1g, 2g, 3g, 4g, 7g.
TEST(Packing, LeastGpus) {
  EXPECT_EQ(least_gpus({7, 0, 0, 0, 1, 0}), 2);
  EXPECT_EQ(least_gpus({0, 0, 0, 3, 3, 0}), 3);
  EXPECT_EQ(least_gpus({0, 0, 2, 1, 0, 0}), 1);
  EXPECT_EQ(least_gpus({0, 0, 0, 4, 0, 0}), 2);
  EXPECT_EQ(least_gpus({3, 0, 0, 0, 1, 0}), 1);
  EXPECT_EQ(least_gpus({8, 0, 0, 0, 0, 0}), 2);
}

TEST(Packing, MediaEnginesNeedAGpuEach) {
  EXPECT_EQ(least_gpus({3, 0, 0, 0, 0, 0}, 0), 1);
  EXPECT_EQ(least_gpus({3, 0, 0, 0, 0, 0}, 3), 3);
  EXPECT_EQ(least_a30_gpus({4, 0, 0}, {0, 0}), 1);
  EXPECT_EQ(least_a30_gpus({1, 2, 1}, {0, 0}), 3);
  EXPECT_EQ(least_a30_gpus({2, 2, 0}, {2, 1}), 2);
  EXPECT_EQ(least_a30_gpus({0, 3, 0}, {0, 3}), 3);
}

// docs/spec/das.md 16.2: the bound was exact for 400 random demands.
TEST(Packing, TheBoundIsExactForSmallDemands) {
  EXPECT_EQ(exact_gpus({7, 0, 0, 0, 1, 0}), 2);
  EXPECT_EQ(exact_gpus({0, 0, 0, 3, 3, 0}), 3);
  EXPECT_EQ(exact_gpus({0, 0, 0, 0, 0, 0}), 0);
  std::uint64_t state = 1;
  for (int i = 0; i < 40; ++i) {
    std::array<int, 6> counts{};
    for (int& count : counts) {
      state = state * 6364136223846793005U + 1442695040888963407U;
      count = static_cast<int>(state >> 33U) % 5;
    }
    EXPECT_EQ(exact_gpus(counts), least_gpus(counts))
        << counts[0] << " " << counts[1] << " " << counts[2] << " " << counts[3] << " " << counts[4]
        << " " << counts[5];
  }
}

TEST(Packing, BatchesUseFewMoreGpusThanTheyMust) {
  for (const Mix& mix : standard_mixes()) {
    double online = 0;
    double offline = 0;
    constexpr int kSeeds = 5;
    for (int seed = 1; seed <= kSeeds; ++seed) {
      online += play_batch(mix, Batch::Online, static_cast<std::uint64_t>(seed)) / kSeeds;
      offline += play_batch(mix, Batch::Offline, static_cast<std::uint64_t>(seed)) / kSeeds;
    }
    EXPECT_LE(online, 1.06) << mix.name;
    EXPECT_LE(offline, 1.03) << mix.name;
    EXPECT_GE(offline, 1.0) << mix.name;
  }
}

}  // namespace
}  // namespace athanor::das::packing_test
