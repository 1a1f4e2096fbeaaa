// SPDX-License-Identifier: Apache-2.0
// What placement makes of standard workloads (docs/spec/das.md 16), and the bounds that it is
// measured by: for tests and benchmarks.
#pragma once

#include <array>
#include <cstdint>

#include "systems/das/gpus/mixes.hpp"

namespace athanor::das {

// Placements: first fit on the node with most free slots, first fit in a fixed order, least
// fragmentation.
enum class Packing : std::uint8_t { SpreadFirstFit, FixedFirstFit, FragMin };
// Share of accepted requests and share of used slots, both 0 to 1.
struct PackingOutcome {
  double acceptance = 0;
  double utilisation = 0;
};
// Plays 8,000 random arrivals on 8 nodes of 8 A100-40; drops those that do not fit. The same seed
// gives the same outcome.
PackingOutcome play_arrivals(const Mix& mix, Packing way, std::uint64_t seed);

// Returns a lower bound of the GPUs that hold so many requests of each profile, `media` of them
// "+me", which count as 1g, too (docs/spec/das.md 16.2).
int least_gpus(const std::array<int, 6>& counts, int media = 0);
// Returns the bound for A30: counts of 1g, 2g and 4g, and how many of the first two are "+me".
int least_a30_gpus(const std::array<int, 3>& counts, const std::array<int, 2>& media);
// Returns the exact number by branch and bound over the sets that one GPU holds. For small demands:
// the time grows with the number of requests.
int exact_gpus(const std::array<int, 6>& counts);
// GPUs used for 300 requests at random / least_gpus(). Offline: the whole batch is known.
enum class Batch : std::uint8_t { Online, Offline };
// Returns that ratio; the same seed gives the same value.
double play_batch(const Mix& mix, Batch batch, std::uint64_t seed);

}  // namespace athanor::das
