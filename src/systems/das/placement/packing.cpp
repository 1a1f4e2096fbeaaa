// SPDX-License-Identifier: Apache-2.0
#include "systems/das/placement/packing.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "systems/das/placement/placement.hpp"

namespace athanor::das {
namespace {

constexpr std::size_t kNodes = 8;
constexpr std::size_t kGpusOfNode = 8;
constexpr int kArrivals = 8000;
constexpr int kBatch = 300;

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
  // Position of a request in kMixProfiles.
  std::size_t pick(const Mix& mix) {
    std::size_t kind = 0;
    for (double rest = uniform(); kind + 1 < mix.shares.size() && rest >= mix.shares[kind];
         ++kind) {
      rest -= mix.shares[kind];
    }
    return kind;
  }

 private:
  std::uint64_t state_;
};

const MigTable& table() {
  return find_model(kDefaultModel)->table;
}

const MigProfile& profile_of(std::size_t kind) {
  return table().profiles[static_cast<std::size_t>(table().find(kMixProfiles[kind]))];
}

// The running slices of a fleet, and the time they took.
class Fleet {
 public:
  explicit Fleet(std::size_t gpus) : gpus_(gpus, GpuSlots{.table = &table()}) {}

  // Ends what ends until then.
  void advance(double to) {
    while (!ends_.empty() && ends_.begin()->first <= to) {
      const auto [end, live] = *ends_.begin();
      area_ += taken_ * (end - now_);
      now_ = end;
      taken_ -= live.size;
      gpus_[live.gpu].occupancy.release(live.profile, live.start, table());
      ends_.erase(ends_.begin());
    }
    area_ += taken_ * (to - now_);
    now_ = to;
  }
  bool start(std::size_t kind, Packing way, double end) {
    const std::vector<std::string> wanted{std::string(kMixProfiles[kind])};
    const auto placed = find(wanted, way);
    if (!placed) {
      return false;
    }
    const int profile = table().find(wanted.front());
    gpus_[placed->gpu].occupancy.take(profile, placed->start, table());
    ends_.emplace(end, Live{placed->gpu, profile, placed->start, placed->size});
    taken_ += placed->size;
    return true;
  }
  [[nodiscard]] double now() const { return now_; }
  [[nodiscard]] double utilisation() const {
    return area_ / now_ / (static_cast<double>(table().slots) * static_cast<double>(gpus_.size()));
  }

 private:
  struct Live {
    std::size_t gpu = 0;
    int profile = 0;
    int start = 0;
    int size = 0;
  };

  [[nodiscard]] std::optional<PlacedSlice> on(std::size_t from, std::size_t count,
                                              const std::vector<std::string>& wanted,
                                              PlacementPolicy policy) const {
    const auto found =
        place(std::span<const GpuSlots>(gpus_).subspan(from, count), wanted, {.policy = policy});
    if (!found) {
      return std::nullopt;
    }
    PlacedSlice placed = found->front();
    placed.gpu += from;
    return placed;
  }

  [[nodiscard]] std::optional<PlacedSlice> find(const std::vector<std::string>& wanted,
                                                Packing way) const {
    if (way != Packing::SpreadFirstFit) {
      return on(0, gpus_.size(), wanted,
                way == Packing::FragMin ? PlacementPolicy::FragMin : PlacementPolicy::FirstFit);
    }
    std::vector<std::pair<std::int64_t, std::size_t>> order;
    for (std::size_t from = 0; from < gpus_.size(); from += kGpusOfNode) {
      order.emplace_back(-spread_score(std::span<const GpuSlots>(gpus_).subspan(from, kGpusOfNode)),
                         from);
    }
    std::ranges::sort(order);
    for (const auto& [score, from] : order) {
      if (auto placed = on(from, kGpusOfNode, wanted, PlacementPolicy::FirstFit)) {
        return placed;
      }
    }
    return std::nullopt;
  }

  std::vector<GpuSlots> gpus_;
  std::multimap<double, Live> ends_{};
  double now_ = 0;
  double taken_ = 0;
  double area_ = 0;
};

}  // namespace

std::span<const Mix> standard_mixes() {
  static constexpr double kSixth = 1 / 6.0;
  static constexpr Mix kMixes[] = {
      {"uniform", {kSixth, kSixth, kSixth, kSixth, kSixth, kSixth}},
      {"small", {0.40, 0.10, 0.20, 0.15, 0.10, 0.05}},
      {"no7", {0.30, 0.10, 0.25, 0.20, 0.15, 0}},
  };
  return kMixes;
}

PackingOutcome play_arrivals(const Mix& mix, Packing way, std::uint64_t seed) {
  constexpr double kLoad = 0.95;
  constexpr std::size_t kGpus = kNodes * kGpusOfNode;
  double mean_size = 0;
  for (std::size_t i = 0; i < mix.shares.size(); ++i) {
    mean_size += mix.shares[i] * profile_of(i).size;
  }
  const double life =
      kLoad * static_cast<double>(table().slots) * static_cast<double>(kGpus) / mean_size;
  Fleet fleet(kGpus);
  Numbers numbers(seed);
  int accepted = 0;
  for (int i = 0; i < kArrivals; ++i) {
    fleet.advance(fleet.now() + numbers.exponential(1));
    const std::size_t kind = numbers.pick(mix);
    accepted += fleet.start(kind, way, fleet.now() + numbers.exponential(life)) ? 1 : 0;
  }
  return {.acceptance = static_cast<double>(accepted) / kArrivals,
          .utilisation = fleet.utilisation()};
}

int least_gpus(const std::array<int, 6>& counts) {
  const auto [one, doubled, two, three, four, seven] = counts;
  const auto up = [](int amount, int by) { return (amount + by - 1) / by; };
  return std::max({up(one + 2 * doubled + 2 * two + 4 * three + 4 * four + 8 * seven, 8),
                   up(one + doubled + 2 * two + 3 * three + 4 * four + 7 * seven, 7),
                   up(two + three + 2 * four + 3 * seven, 3), four + seven});
}

double play_batch(const Mix& mix, Batch batch, std::uint64_t seed) {
  Numbers numbers(seed);
  std::array<int, 6> counts{};
  std::vector<std::size_t> kinds;
  for (int i = 0; i < kBatch; ++i) {
    kinds.push_back(numbers.pick(mix));
    ++counts[kinds.back()];
  }
  if (batch == Batch::Offline) {
    std::ranges::stable_sort(kinds, [](std::size_t a, std::size_t b) {
      const MigProfile& first = profile_of(a);
      const MigProfile& second = profile_of(b);
      return std::pair(first.size, first.compute) > std::pair(second.size, second.compute);
    });
  }
  std::vector<GpuSlots> gpus;
  const PlacementOptions options{.policy = PlacementPolicy::FirstFit};
  for (const std::size_t kind : kinds) {
    const std::vector<std::string> wanted{std::string(kMixProfiles[kind])};
    auto placed = place(gpus, wanted, options);
    if (!placed) {
      gpus.push_back({.table = &table()});
      placed = place(gpus, wanted, options);
    }
    gpus[placed->front().gpu].occupancy.take(table().find(wanted.front()), placed->front().start,
                                             table());
  }
  return static_cast<double>(gpus.size()) / least_gpus(counts);
}

}  // namespace athanor::das
