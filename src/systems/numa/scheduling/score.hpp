// SPDX-License-Identifier: Apache-2.0
// How well a node's zones suit a pod, 0 to 100 (docs/spec/numa.md 11.4, 11.5).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "systems/numa/scheduling/pod_request.hpp"
#include "systems/numa/scheduling/topology.hpp"

namespace athanor::numa {

// Scoring strategies of the plugin (docs/spec/numa.md 11.4, 11.5).
enum class Strategy : std::uint8_t {
  LeastAllocated,
  MostAllocated,
  BalancedAllocation,
  LeastNumaNodes
};
// Returns the strategy of that name; "invalid ScoringStrategyType" for any other.
Result<Strategy> parse_strategy(std::string_view name);

// Options of score().
struct Scoring {
  Strategy strategy = Strategy::LeastAllocated;
  std::map<std::string, std::int64_t, std::less<>> weights{};  // 1 where absent or below 1
  // LeastNUMANodes leaves out resources of the node as a whole that no zone lists (11.5).
  bool ignore_unlisted = false;
};

// Returns z(R, zone): the score of one zone.
std::int64_t zone_score(const Amounts& request, const Zone& zone, const Scoring& scoring);
// Returns S(R): the lowest zone score that is not 0; 0 where all are.
std::int64_t lowest_score(const Amounts& request, const std::vector<Zone>& zones,
                          const Scoring& scoring);

// A set of zones that serves a request together.
struct ZoneSet {
  std::vector<std::size_t> positions{};  // in the list of zones
  bool optimal = false;                  // no set of this size has shorter distances
};
// Returns need(R): the smallest set of zones that serves the request together; nullopt: none does.
std::optional<ZoneSet> zones_needed(const Amounts& request, const std::vector<Zone>& zones);
// One step of LeastNUMANodes: a container of a pod, or the pod as a whole.
struct ZoneStep {
  std::string_view container{};  // empty: the pod as a whole
  bool listed = true;            // false: no zone lists any of the resources, and nothing is needed
  std::optional<ZoneSet> set{};  // nullopt: no set of zones serves the request
};
// Returns the steps in order, each on the zones less the amounts of the steps before it; ends after
// a step without a set.
std::vector<ZoneStep> zone_steps(const PodRequest& pod, const NodeTopology& topology,
                                 const Scoring& scoring);
// Returns the score of a set of that size.
std::int64_t set_score(std::size_t size, bool optimal, int max_numa_nodes);

// Returns the node's score. `topology`: nullptr where the node has none or its data are not fresh.
std::int64_t score(const PodRequest& pod, const NodeTopology* topology, const Scoring& scoring);

}  // namespace athanor::numa
