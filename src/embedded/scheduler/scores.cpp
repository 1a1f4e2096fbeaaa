// SPDX-License-Identifier: Apache-2.0
// Which of the nodes that fit is best: the least allocated, the preferred, the one with the fewest
// taints that the pod would rather avoid; weights are kube-scheduler's.
#include <algorithm>

#include "embedded/scheduler/node_state.hpp"
#include "kube/names/node_match.hpp"

namespace athanor::scheduler {
namespace {

constexpr std::int64_t kMost = 100;
constexpr std::int64_t kAffinityWeight = 2;
constexpr std::int64_t kTaintWeight = 3;

// The mean of what would be left of cpu and memory, in per cent.
std::int64_t least_allocated(const Candidate& candidate, const NodeState& state) {
  std::int64_t sum = 0;
  std::int64_t parts = 0;
  for (const std::string_view name : {"cpu", "memory"}) {
    const auto has = state.allocatable.find(name);
    if (has == state.allocatable.end() || has->second <= 0) {
      continue;
    }
    const auto used = state.scored_used.find(name);
    const auto wanted = candidate.scored_requests.find(name);
    const std::int64_t taken = (used == state.scored_used.end() ? 0 : used->second) +
                               (wanted == candidate.scored_requests.end() ? 0 : wanted->second);
    // In floating point: bytes times a hundred would not fit.
    sum += taken > has->second
               ? 0
               : static_cast<std::int64_t>(static_cast<double>(has->second - taken) * kMost /
                                           static_cast<double>(has->second));
    ++parts;
  }
  return parts == 0 ? 0 : sum / parts;
}

std::int64_t preference(const Value& spec, const Object& node) {
  std::int64_t sum = 0;
  for (const Value& term :
       spec.at({"affinity", "nodeAffinity", "preferredDuringSchedulingIgnoredDuringExecution"})
           .items()) {
    if (matches_term(term["preference"], node)) {
      sum += term["weight"].as_int();
    }
  }
  return sum;
}

std::int64_t unwelcome_taints(const Value& spec, const Object& node) {
  return std::ranges::count_if(node.spec()["taints"].items(), [&](const Value& taint) {
    return taint["effect"].as_string() == "PreferNoSchedule" &&
           !tolerates(spec["tolerations"], taint);
  });
}

// Scaled so that the highest becomes kMost.
void normalize(std::vector<std::int64_t>& raw) {
  const std::int64_t most = raw.empty() ? 0 : *std::ranges::max_element(raw);
  for (std::int64_t& score : raw) {
    score = most == 0 ? 0 : score * kMost / most;
  }
}

}  // namespace

std::vector<std::int64_t> scores(const Candidate& candidate,
                                 const std::vector<const NodeState*>& nodes) {
  std::vector<std::int64_t> preferred;
  std::vector<std::int64_t> avoided;
  for (const NodeState* state : nodes) {
    preferred.push_back(preference(candidate.pod.spec(), state->node));
    avoided.push_back(unwelcome_taints(candidate.pod.spec(), state->node));
  }
  normalize(preferred);
  normalize(avoided);
  std::vector<std::int64_t> sums;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    sums.push_back(least_allocated(candidate, *nodes[i]) + kAffinityWeight * preferred[i] +
                   kTaintWeight * (kMost - avoided[i]));
  }
  return sums;
}

}  // namespace athanor::scheduler
