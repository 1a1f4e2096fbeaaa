// SPDX-License-Identifier: Apache-2.0
#include "support/packing/packing.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "systems/das/makers/vendor.hpp"
#include "systems/das/slices/placement.hpp"

namespace athanor::das {
namespace {

constexpr std::size_t kNodes = 8;
constexpr std::size_t kGpusOfNode = 8;
constexpr int kBatch = 300;

const MigTable& table() {
  return find_model(kDefaultModel)->table;
}

using Counts = std::array<int, 6>;  // by kMixProfiles

// Every set of slices that one empty GPU holds.
std::vector<Counts> legal_sets() {
  std::vector<Counts> sets;
  const GpuSlots empty{.table = &table()};
  const auto extend = [&](const auto& self, Counts set, std::size_t kind) -> void {
    if (kind == set.size()) {
      sets.push_back(set);
      return;
    }
    for (;; ++set[kind]) {
      std::vector<std::string> wanted;
      for (std::size_t i = 0; i <= kind; ++i) {
        wanted.insert(wanted.end(), static_cast<std::size_t>(set[i]), std::string(kMixProfiles[i]));
      }
      if (!wanted.empty() && !place(std::span(&empty, 1), wanted)) {
        return;
      }
      self(self, set, kind + 1);
    }
  };
  extend(extend, {}, 0);
  return sets;
}

// Sets that no other set contains.
const std::vector<Counts>& maximal_sets() {
  static const std::vector<Counts> kSets = [] {
    std::vector<Counts> sets = legal_sets();
    const std::vector<Counts> all = sets;
    std::erase_if(sets, [&](const Counts& set) {
      return std::ranges::any_of(all, [&](const Counts& other) {
        return other != set && std::ranges::equal(set, other, std::less_equal<>{});
      });
    });
    return sets;
  }();
  return kSets;
}

// A search for room: one GPU after another takes a maximal set with the largest profile
// that is left. (Demand, GPUs) that failed once is not tried again.
class PackingSearch {
 public:
  bool fits(const Counts& left, int gpus) {
    const auto largest =
        std::find_if(left.rbegin(), left.rend(), [](int count) { return count > 0; });
    if (largest == left.rend()) {
      return true;
    }
    if (least_gpus(left) > gpus || failed_.contains({left, gpus})) {
      return false;
    }
    const auto kind = static_cast<std::size_t>(left.rend() - largest) - 1;
    for (const Counts& set : maximal_sets()) {
      if (set[kind] == 0) {
        continue;
      }
      Counts rest = left;
      for (std::size_t i = 0; i < rest.size(); ++i) {
        rest[i] -= std::min(rest[i], set[i]);
      }
      if (fits(rest, gpus - 1)) {
        return true;
      }
    }
    failed_.insert({left, gpus});
    return false;
  }

 private:
  std::set<std::pair<Counts, int>> failed_{};
};

int up(int amount, int by) {
  return (amount + by - 1) / by;
}

// GPUs used when each takes the set of what is left that weighs most.
int fill(Counts left, const std::vector<Counts>& sets, const std::array<double, 6>& weights) {
  int gpus = 0;
  while (std::ranges::any_of(left, [](int count) { return count > 0; })) {
    double most = -1;
    const Counts* best = nullptr;
    for (const Counts& set : sets) {
      double weight = 0;
      bool fits = true;
      for (std::size_t i = 0; i < set.size() && fits; ++i) {
        fits = set[i] <= left[i];
        weight += weights[i] * set[i];
      }
      if (fits && weight > most) {
        most = weight;
        best = &set;
      }
    }
    for (std::size_t i = 0; i < left.size(); ++i) {
      left[i] -= (*best)[i];
    }
    ++gpus;
  }
  return gpus;
}

// The whole batch is known: the best of several ways to weigh slices, mixtures of the bound's terms
// (docs/spec/das.md 16.2).
int fill_best(const Counts& counts) {
  static const std::vector<Counts> kSets = legal_sets();
  constexpr std::array<std::array<double, 6>, 4> kTerms{{
      {1 / 8.0, 2 / 8.0, 2 / 8.0, 4 / 8.0, 4 / 8.0, 8 / 8.0},
      {1 / 7.0, 1 / 7.0, 2 / 7.0, 3 / 7.0, 4 / 7.0, 7 / 7.0},
      {0, 0, 1 / 3.0, 1 / 3.0, 2 / 3.0, 3 / 3.0},
      {0, 0, 0, 0, 1, 1},
  }};
  constexpr double kTie = 1e-3;  // more slices rather than fewer
  const int bound = least_gpus(counts);
  int best = kBatch;
  for (unsigned mixture = 1; mixture < 81 && best > bound; ++mixture) {
    std::array<double, 6> weights{};
    weights.fill(kTie);
    unsigned rest = mixture;
    for (const auto& term : kTerms) {
      for (std::size_t i = 0; i < weights.size(); ++i) {
        weights[i] += (rest % 3) * term[i];
      }
      rest /= 3;
    }
    best = std::min(best, fill(counts, kSets, weights));
  }
  return best;
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

PackingOutcome play_arrivals(const Mix& mix, Packing way, std::uint64_t seed) {
  constexpr std::size_t kGpus = kNodes * kGpusOfNode;
  const std::vector<Arrival> arrivals = arrivals_of(mix, {.gpus = kGpus, .seed = seed});
  Fleet fleet(kGpus);
  int accepted = 0;
  for (const Arrival& one : arrivals) {
    fleet.advance(one.at);
    accepted += fleet.start(one.kind, way, fleet.now() + one.life) ? 1 : 0;
  }
  return {.acceptance = static_cast<double>(accepted) / static_cast<double>(arrivals.size()),
          .utilisation = fleet.utilisation()};
}

int least_gpus(const std::array<int, 6>& counts, int media) {
  const auto [one, doubled, two, three, four, seven] = counts;
  return std::max({up(one + 2 * doubled + 2 * two + 4 * three + 4 * four + 8 * seven, 8),
                   up(one + doubled + 2 * two + 3 * three + 4 * four + 7 * seven, 7),
                   up(two + three + 2 * four + 3 * seven, 3), four + seven, media});
}

int least_a30_gpus(const std::array<int, 3>& counts, const std::array<int, 2>& media) {
  const auto [one, two, four] = counts;
  return std::max({up(one + 2 * two + 4 * four, 4), media[0], media[1]});
}

int exact_gpus(const std::array<int, 6>& counts) {
  for (int gpus = least_gpus(counts);; ++gpus) {
    if (PackingSearch().fits(counts, gpus)) {
      return gpus;
    }
  }
}

double play_batch(const Mix& mix, Batch batch, std::uint64_t seed) {
  Counts counts{};
  std::vector<std::size_t> kinds;
  for (const Arrival& one : arrivals_of(mix, {.arrivals = kBatch, .seed = seed})) {
    kinds.push_back(one.kind);
    ++counts[one.kind];
  }
  if (batch == Batch::Offline) {
    return static_cast<double>(fill_best(counts)) / least_gpus(counts);
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
