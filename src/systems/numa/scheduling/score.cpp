// SPDX-License-Identifier: Apache-2.0
// Scores from amounts; sets of zones are in least_numa.cpp.
#include "systems/numa/scheduling/score.hpp"

#include <algorithm>

namespace athanor::numa {
namespace {

constexpr std::int64_t kMost = 100;

// Whole units, rounded up.
std::int64_t whole(std::int64_t amount) {
  return amount <= 0 ? 0 : (amount - 1) / kUnit + 1;
}

std::int64_t weight_of(const Scoring& scoring, std::string_view resource) {
  const auto found = scoring.weights.find(resource);
  return found == scoring.weights.end() || found->second < 1 ? 1 : found->second;
}

// part * 100 / all without overflow: memory in bytes times a hundred needs more than 63 bits.
std::int64_t per_cent(std::int64_t part, std::int64_t all) {
  __extension__ using Wide = __int128;
  return static_cast<std::int64_t>(static_cast<Wide>(part) * kMost / all);
}

std::int64_t balanced(const Amounts& request, const Zone& zone) {
  std::vector<double> fractions;
  double sum = 0;
  for (const auto& [resource, amount] : request) {
    const std::int64_t has = whole(amount_of(zone.available, resource));
    const double fraction =
        has == 0 ? 1 : static_cast<double>(whole(amount)) / static_cast<double>(has);
    if (fraction > 1) {
      return 0;
    }
    fractions.push_back(fraction);
    sum += fraction;
  }
  if (fractions.size() < 2) {
    return fractions.empty() ? 0 : kMost;
  }
  const double mean = sum / static_cast<double>(fractions.size());
  double squares = 0;
  for (const double fraction : fractions) {
    squares += (fraction - mean) * (fraction - mean);
  }
  const double variance = squares / static_cast<double>(fractions.size() - 1);
  return static_cast<std::int64_t>((1 - variance) * static_cast<double>(kMost));
}

}  // namespace

Result<Strategy> parse_strategy(std::string_view name) {
  if (name.empty() || name == "LeastAllocated") {
    return Strategy::LeastAllocated;
  }
  if (name == "MostAllocated") {
    return Strategy::MostAllocated;
  }
  if (name == "BalancedAllocation") {
    return Strategy::BalancedAllocation;
  }
  if (name == "LeastNUMANodes") {
    return Strategy::LeastNumaNodes;
  }
  return Error::bad_request("invalid ScoringStrategyType: " + std::string(name));
}

std::int64_t zone_score(const Amounts& request, const Zone& zone, const Scoring& scoring) {
  if (scoring.strategy == Strategy::BalancedAllocation) {
    return balanced(request, zone);
  }
  std::int64_t sum = 0;
  std::int64_t weights = 0;
  for (const auto& [resource, amount] : request) {
    const std::int64_t available = amount_of(zone.available, resource);
    const std::int64_t weight = weight_of(scoring, resource);
    weights += weight;
    if (available <= 0 || amount > available) {
      continue;
    }
    const std::int64_t has = whole(available);
    const std::int64_t wanted = whole(amount);
    sum +=
        weight * per_cent(scoring.strategy == Strategy::MostAllocated ? wanted : has - wanted, has);
  }
  return weights == 0 ? 0 : sum / weights;
}

std::int64_t lowest_score(const Amounts& request, const std::vector<Zone>& zones,
                          const Scoring& scoring) {
  std::int64_t lowest = 0;
  for (const Zone& zone : zones) {
    const std::int64_t one = zone_score(request, zone, scoring);
    if (one != 0 && (lowest == 0 || one < lowest)) {
      lowest = one;
    }
  }
  return lowest;
}

}  // namespace athanor::numa
