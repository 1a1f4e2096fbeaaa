// SPDX-License-Identifier: Apache-2.0
// Standard workloads of slices and what placement makes of them (docs/spec/das.md 16): figures for
// tests and benchmarks.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace athanor::das {

// In the order of shares and counts.
inline constexpr std::array<std::string_view, 6> kMixProfiles{"1g.5gb",  "1g.10gb", "2g.10gb",
                                                              "3g.20gb", "4g.20gb", "7g.40gb"};
// A workload: shares of the profiles of kMixProfiles, whose sum is 1.
struct Mix {
  std::string_view name{};
  std::array<double, 6> shares{};
};
// uniform, small, no7.
std::span<const Mix> standard_mixes();

// Placements: first fit on the node with most free slots, first fit in a fixed order, least
// fragmentation.
enum class Packing : std::uint8_t { SpreadFirstFit, FixedFirstFit, FragMin };
// Share of accepted requests and share of used slots, both 0 to 1.
struct PackingOutcome {
  double acceptance = 0;
  double utilisation = 0;
};
// 8 nodes of 8 A100-40, 8,000 arrivals at random; what does not fit is dropped. The same seed gives
// the same outcome.
PackingOutcome play_arrivals(const Mix& mix, Packing way, std::uint64_t seed);

// Least number of GPUs that hold so many requests of each profile (docs/spec/das.md 16.2).
int least_gpus(const std::array<int, 6>& counts);
// GPUs used for 300 requests at random / least_gpus(). Offline: the whole batch is known.
enum class Batch : std::uint8_t { Online, Offline };
// Returns that ratio; the same seed gives the same value.
double play_batch(const Mix& mix, Batch batch, std::uint64_t seed);

}  // namespace athanor::das
