// SPDX-License-Identifier: Apache-2.0
// LeastNUMANodes (docs/spec/numa.md 11.5) and the score of a node.
#include <algorithm>

#include "systems/numa/scheduling/score.hpp"

namespace athanor::numa {
namespace {

constexpr std::int64_t kMostScore = 100;
constexpr std::int64_t kUnknownCost = 255;
// Sets of zones that are looked at for one request: all of up to 17 zones.
constexpr std::size_t kMostSets = std::size_t{1} << 17U;

// Walks the combinations of `size` out of `count` positions in lexicographic order.
bool next_combination(std::vector<std::size_t>& positions, std::size_t count) {
  const std::size_t size = positions.size();
  for (std::size_t i = size; i-- > 0;) {
    if (positions[i] != i + count - size) {
      ++positions[i];
      for (std::size_t j = i + 1; j < size; ++j) {
        positions[j] = positions[j - 1] + 1;
      }
      return true;
    }
  }
  return false;
}

// Sum over ordered pairs, itself included; sets of one size compare by it.
std::int64_t distance(const std::vector<std::size_t>& positions, const std::vector<Zone>& zones) {
  std::int64_t sum = 0;
  for (const std::size_t from : positions) {
    for (const std::size_t to : positions) {
      const auto cost = zones[from].costs.find(zones[to].id);
      sum += cost == zones[from].costs.end() ? kUnknownCost : cost->second;
    }
  }
  return sum;
}

bool serves(const std::vector<std::size_t>& positions, const std::vector<Zone>& zones,
            const Amounts& request) {
  return std::ranges::all_of(request, [&](const auto& entry) {
    const auto& [resource, amount] = entry;
    std::int64_t sum = 0;
    for (const std::size_t position : positions) {
      const auto found = zones[position].available.find(resource);
      if (found == zones[position].available.end()) {
        return false;
      }
      sum += found->second;
    }
    return sum >= amount;
  });
}

bool listed_anywhere(const Amounts& request, const std::vector<Zone>& zones) {
  return std::ranges::any_of(request, [&](const auto& entry) {
    return std::ranges::any_of(zones, [&](const Zone& zone) { return zone.lists(entry.first); });
  });
}

// Takes a request from the zones of a set, those of lower id first.
void subtract_from_set(const Amounts& request, const ZoneSet& set, std::vector<Zone>& zones) {
  std::vector<std::size_t> positions = set.positions;
  std::ranges::sort(positions, {}, [&](std::size_t position) { return zones[position].id; });
  for (const auto& [resource, amount] : request) {
    std::int64_t rest = amount;
    for (const std::size_t position : positions) {
      const auto found = zones[position].available.find(resource);
      if (found != zones[position].available.end()) {
        const std::int64_t part = std::min(rest, std::max<std::int64_t>(found->second, 0));
        found->second -= part;
        rest -= part;
      }
    }
  }
}

// The part of a request that zones are looked at for.
Amounts asked_of_zones(const Amounts& request, const std::vector<Zone>& zones,
                       const Scoring& scoring) {
  if (!scoring.ignore_unlisted) {
    return request;
  }
  Amounts asked;
  for (const auto& [resource, amount] : request) {
    if (!is_host_level(resource) || listed_anywhere({{resource, amount}}, zones)) {
      asked.insert_or_assign(resource, amount);
    }
  }
  return asked;
}

std::int64_t score_sets(const PodRequest& pod, const NodeTopology& topology,
                        const Scoring& scoring) {
  std::size_t most = 0;
  bool optimal = true;
  for (const ZoneStep& step : zone_steps(pod, topology, scoring)) {
    if (!step.listed) {
      continue;
    }
    if (!step.set) {
      return 0;
    }
    most = std::max(most, step.set->positions.size());
    optimal = optimal && step.set->optimal;
  }
  return most == 0 ? kMostScore : set_score(most, optimal, topology.max_numa_nodes);
}

}  // namespace

std::optional<ZoneSet> zones_needed(const Amounts& request, const std::vector<Zone>& zones) {
  std::size_t looked_at = 0;
  for (std::size_t size = 1; size <= zones.size(); ++size) {
    std::vector<std::size_t> positions(size);
    for (std::size_t i = 0; i < size; ++i) {
      positions[i] = i;
    }
    std::optional<ZoneSet> best;
    std::int64_t best_distance = 0;
    std::int64_t shortest = 0;
    bool first = true;
    do {
      if (++looked_at > kMostSets) {
        return std::nullopt;
      }
      const std::int64_t length = distance(positions, zones);
      shortest = first ? length : std::min(shortest, length);
      first = false;
      if ((!best || length < best_distance) && serves(positions, zones, request)) {
        best = ZoneSet{.positions = positions};
        best_distance = length;
      }
    } while (next_combination(positions, zones.size()));
    if (best) {
      best->optimal = best_distance == shortest;
      return best;
    }
  }
  return std::nullopt;
}

std::vector<ZoneStep> zone_steps(const PodRequest& pod, const NodeTopology& topology,
                                 const Scoring& scoring) {
  std::vector<Zone> zones = topology.zones;
  std::vector<ZoneStep> steps;
  // Returns false after a step without a set.
  const auto take = [&](std::string_view container, const Amounts& request) {
    const Amounts asked = asked_of_zones(request, zones, scoring);
    ZoneStep& step = steps.emplace_back(
        ZoneStep{.container = container, .listed = listed_anywhere(asked, zones)});
    if (!step.listed) {
      return true;
    }
    step.set = zones_needed(asked, zones);
    if (step.set) {
      subtract_from_set(asked, *step.set, zones);
    }
    return step.set.has_value();
  };
  if (topology.scope == "pod") {
    take({}, pod.effective);
    return steps;
  }
  for (const ContainerRequest& container : pod.containers) {
    if (!take(container.name, container.requests)) {
      break;
    }
  }
  return steps;
}

std::int64_t set_score(std::size_t size, bool optimal, int max_numa_nodes) {
  const std::int64_t step = kMostScore / std::max(max_numa_nodes, 1);
  const std::int64_t points =
      kMostScore - static_cast<std::int64_t>(size) * step + (optimal ? step / 2 : 0);
  return std::clamp<std::int64_t>(points, 0, kMostScore);
}

std::int64_t score(const PodRequest& pod, const NodeTopology* topology, const Scoring& scoring) {
  if (!pod.guaranteed) {
    return kMostScore;
  }
  if (topology == nullptr) {
    return 0;
  }
  if (scoring.strategy == Strategy::LeastNumaNodes) {
    return score_sets(pod, *topology, scoring);
  }
  if (topology->policy != kSingleNumaNode) {
    return 0;
  }
  if (topology->scope == "pod") {
    return lowest_score(pod.effective, topology->zones, scoring);
  }
  std::int64_t sum = 0;
  for (const ContainerRequest& container : pod.containers) {
    sum += lowest_score(container.requests, topology->zones, scoring);
  }
  return pod.containers.empty() ? 0 : sum / static_cast<std::int64_t>(pod.containers.size());
}

}  // namespace athanor::numa
