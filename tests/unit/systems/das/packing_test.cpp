// SPDX-License-Identifier: Apache-2.0
// The packing benchmark's model values (docs/spec/das.md 16.3): 8 nodes of 8 A100, arrivals and
// departures at random, requests that do not fit are dropped.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "systems/das/placement/placement.hpp"

namespace athanor::das {
namespace {

constexpr std::size_t kNodes = 8;
constexpr std::size_t kGpusOfNode = 8;
constexpr int kArrivals = 8000;

// SplitMix64: the same numbers everywhere.
class Numbers {
 public:
  explicit Numbers(std::uint64_t seed) : state_(seed) {}
  double uniform() {
    state_ += 0x9e3779b97f4a7c15U;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
    z ^= z >> 31U;
    return static_cast<double>(z >> 11U) * 0x1.0p-53;
  }
  double exponential(double mean) { return -mean * std::log1p(-uniform()); }

 private:
  std::uint64_t state_;
};

enum class Way { SpreadFirstFit, FixedFirstFit, FragMin };
struct Outcome {
  double acceptance = 0;
  double utilisation = 0;
};

Outcome play(const std::array<double, 6>& mix, Way way, std::uint64_t seed) {
  constexpr std::array<const char*, 6> kProfiles{"1g.5gb",  "1g.10gb", "2g.10gb",
                                                 "3g.20gb", "4g.20gb", "7g.40gb"};
  const MigTable& table = find_model(kDefaultModel)->table;
  std::vector<GpuSlots> gpus(kNodes * kGpusOfNode, GpuSlots{.table = &table});
  double mean_size = 0;
  for (std::size_t i = 0; i < mix.size(); ++i) {
    mean_size += mix[i] * table.profiles[static_cast<std::size_t>(table.find(kProfiles[i]))].size;
  }
  const double life = 0.95 * 8 * static_cast<double>(gpus.size()) / mean_size;
  struct Live {
    std::size_t gpu;
    int profile, start, size;
  };
  std::multimap<double, Live> ends;
  Numbers numbers(seed);
  double now = 0;
  double taken = 0;
  double area = 0;
  int accepted = 0;
  const auto advance = [&](double to) {
    while (!ends.empty() && ends.begin()->first <= to) {
      const auto [end, live] = *ends.begin();
      area += taken * (end - now);
      now = end;
      taken -= live.size;
      gpus[live.gpu].occupancy.release(live.profile, live.start, table);
      ends.erase(ends.begin());
    }
    area += taken * (to - now);
    now = to;
  };
  for (int i = 0; i < kArrivals; ++i) {
    advance(now + numbers.exponential(1));
    std::size_t kind = 0;
    for (double rest = numbers.uniform(); kind + 1 < mix.size() && rest >= mix[kind]; ++kind) {
      rest -= mix[kind];
    }
    const double ends_at = now + numbers.exponential(life);
    const std::vector<std::string> wanted{kProfiles[kind]};
    std::optional<PlacedSlice> placed;
    const auto try_on = [&](std::size_t from, std::size_t count, PlacementPolicy policy) {
      const auto found =
          place(std::span<const GpuSlots>(gpus).subspan(from, count), wanted, {.policy = policy});
      if (found) {
        placed = found->front();
        placed->gpu += from;
      }
    };
    if (way == Way::SpreadFirstFit) {
      std::vector<std::pair<std::int64_t, std::size_t>> order;
      for (std::size_t n = 0; n < kNodes; ++n) {
        order.emplace_back(
            -spread_score(std::span<const GpuSlots>(gpus).subspan(n * kGpusOfNode, kGpusOfNode)),
            n);
      }
      std::ranges::sort(order);
      for (std::size_t n = 0; n < kNodes && !placed; ++n) {
        try_on(order[n].second * kGpusOfNode, kGpusOfNode, PlacementPolicy::FirstFit);
      }
    } else {
      try_on(0, gpus.size(),
             way == Way::FragMin ? PlacementPolicy::FragMin : PlacementPolicy::FirstFit);
    }
    if (placed) {
      const int profile = table.find(wanted.front());
      gpus[placed->gpu].occupancy.take(profile, placed->start, table);
      ends.emplace(ends_at, Live{placed->gpu, profile, placed->start, placed->size});
      taken += placed->size;
      ++accepted;
    }
  }
  return {.acceptance = static_cast<double>(accepted) / kArrivals,
          .utilisation = area / now / (8.0 * static_cast<double>(gpus.size()))};
}

struct Expected {
  const char* name;
  std::array<double, 6> mix;
  std::array<Outcome, 3> outcomes;  // by way
};

TEST(Packing, ReachesTheModelValues) {
  constexpr double kTolerance = 0.02;
  const Expected rows[] = {
      {"uniform",
       {1 / 6.0, 1 / 6.0, 1 / 6.0, 1 / 6.0, 1 / 6.0, 1 / 6.0},
       {{{0.920, 0.774}, {0.938, 0.832}, {0.963, 0.865}}}},
      {"small",
       {0.40, 0.10, 0.20, 0.15, 0.10, 0.05},
       {{{0.944, 0.782}, {0.960, 0.838}, {0.966, 0.840}}}},
      {"no7",
       {0.30, 0.10, 0.25, 0.20, 0.15, 0},
       {{{0.934, 0.806}, {0.948, 0.849}, {0.961, 0.868}}}},
  };
  for (const Expected& row : rows) {
    for (const Way way : {Way::SpreadFirstFit, Way::FixedFirstFit, Way::FragMin}) {
      const Outcome& expected = row.outcomes[static_cast<std::size_t>(way)];
      const Outcome found = play(row.mix, way, 1);
      SCOPED_TRACE(std::string(row.name) + " " + std::to_string(static_cast<int>(way)) + ": " +
                   std::to_string(found.acceptance) + " / " + std::to_string(found.utilisation));
      EXPECT_GE(found.acceptance, expected.acceptance - kTolerance);
      EXPECT_GE(found.utilisation, expected.utilisation - kTolerance);
    }
  }
}

}  // namespace
}  // namespace athanor::das
