// SPDX-License-Identifier: Apache-2.0
#include "embedded/scheduler/preemption.hpp"

#include <algorithm>
#include <tuple>

#include "embedded/scheduler/topology.hpp"

namespace athanor::scheduler {
namespace {

std::int64_t priority_of(const Object& pod) {
  return pod.spec()["priority"].as_int();
}

NodeState with_residents(const NodeState& node, const std::vector<Object>& residents) {
  NodeState result{.node = node.node, .allocatable = node.allocatable};
  for (const Object& pod : residents) {
    result.place(pod);
  }
  return result;
}

class Search {
 public:
  Search(const View& view, const Candidate& candidate, std::vector<NodeState> nodes)
      : view_(view), candidate_(candidate), nodes_(std::move(nodes)) {}

  // The victims on one node; nullopt: not even without all of lower priority.
  std::optional<std::vector<Object>> victims(std::size_t index) {
    const NodeState before = nodes_[index];
    const std::int64_t priority = priority_of(candidate_.pod);
    std::vector<Object> stays;
    std::vector<Object> lower;
    for (const Object& pod : before.residents) {
      (priority_of(pod) < priority ? lower : stays).push_back(pod);
    }
    // Whoever can be spared is, the important and the old first.
    std::ranges::stable_sort(lower, [](const Object& a, const Object& b) {
      return priority_of(a) != priority_of(b) ? priority_of(a) > priority_of(b)
                                              : a.creation_time() < b.creation_time();
    });
    std::optional<std::vector<Object>> found;
    if (!lower.empty() && fits(index, before, stays)) {
      found.emplace();
      for (const Object& pod : lower) {
        stays.push_back(pod);
        if (!fits(index, before, stays)) {
          stays.pop_back();
          found->push_back(pod);
        }
      }
    }
    nodes_[index] = before;
    return found;
  }

 private:
  bool fits(std::size_t index, const NodeState& before, const std::vector<Object>& residents) {
    nodes_[index] = with_residents(before, residents);
    return check(candidate_, nodes_[index]).reasons.empty() &&
           Topology(view_, candidate_.pod, nodes_).check(nodes_[index]).reasons.empty();
  }

  const View& view_;
  const Candidate& candidate_;
  std::vector<NodeState> nodes_;
};

// The less, the better.
auto loss(const std::vector<Object>& victims) {
  std::int64_t highest = priority_of(victims.front());
  std::int64_t sum = 0;
  for (const Object& pod : victims) {
    sum += priority_of(pod);
  }
  return std::tuple(highest, sum, victims.size());
}

}  // namespace

std::optional<Eviction> find_eviction(const View& view, const Candidate& candidate,
                                      const std::vector<NodeState>& nodes,
                                      const std::vector<bool>& hopeless) {
  if (candidate.pod.spec()["preemptionPolicy"].as_string() == "Never") {
    return std::nullopt;
  }
  const std::int64_t priority = priority_of(candidate.pod);
  std::optional<Search> search;
  std::optional<Eviction> best;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const bool any_lower = std::ranges::any_of(
        nodes[i].residents, [&](const Object& pod) { return priority_of(pod) < priority; });
    if (hopeless[i] || !any_lower) {
      continue;
    }
    if (!search) {
      search.emplace(view, candidate, nodes);
    }
    auto victims = search->victims(i);
    if (victims && !victims->empty() && (!best || loss(*victims) < loss(best->victims))) {
      best = Eviction{.node = i, .victims = *std::move(victims)};
    }
  }
  return best;
}

bool waits_for_victims(const Object& pod, const NodeState& promised) {
  return std::ranges::any_of(promised.residents, [&](const Object& other) {
    return other.deleting() && priority_of(other) < priority_of(pod);
  });
}

}  // namespace athanor::scheduler
