// SPDX-License-Identifier: Apache-2.0
#include "systems/das/gpus/mixes.hpp"

#include <cmath>

#include "systems/das/makers/vendor.hpp"
#include "systems/das/slices/placement.hpp"

namespace athanor::das {
namespace {

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

const MigTable& mix_table() {
  return find_model(kDefaultModel)->table;
}

const MigProfile& mix_profile(std::size_t kind) {
  return mix_table().profiles[static_cast<std::size_t>(mix_table().find(kMixProfiles[kind]))];
}

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

std::vector<Arrival> arrivals_of(const Mix& mix, const ArrivalPlan& plan) {
  double mean_size = 0;
  for (std::size_t i = 0; i < mix.shares.size(); ++i) {
    mean_size += mix.shares[i] * mix_profile(i).size;
  }
  const double life = plan.load * static_cast<double>(mix_table().slots) *
                      static_cast<double>(plan.gpus) / mean_size;
  Numbers numbers(plan.seed);
  std::vector<Arrival> arrivals;
  double now = 0;
  for (int i = 0; i < plan.arrivals; ++i) {
    Arrival arrival{.at = now += numbers.exponential(1)};
    arrival.kind = numbers.pick(mix);
    arrival.life = numbers.exponential(life);
    arrivals.push_back(arrival);
  }
  return arrivals;
}

}  // namespace athanor::das
