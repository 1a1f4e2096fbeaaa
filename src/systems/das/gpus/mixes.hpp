// SPDX-License-Identifier: Apache-2.0
// Standard workloads of slices (docs/spec/das.md 16.3).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
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
// Returns uniform, small, no7.
std::span<const Mix> standard_mixes();

// A request of a mix: when it comes, its place in kMixProfiles, how long its slice lives.
struct Arrival {
  double at = 0;
  std::size_t kind = 0;
  double life = 0;
};
// Parameters of arrivals_of(). `load`: the requested share of all slots, 0.95 in
// docs/spec/das.md 16.3.
struct ArrivalPlan {
  std::size_t gpus = 64;  // with seven compute slices
  int arrivals = 8000;
  double load = 0.95;
  std::uint64_t seed = 1;
};
// Returns Poisson arrivals at rate 1, whose slices live exponentially long. The same seed gives the
// same arrivals.
std::vector<Arrival> arrivals_of(const Mix& mix, const ArrivalPlan& plan);

}  // namespace athanor::das
