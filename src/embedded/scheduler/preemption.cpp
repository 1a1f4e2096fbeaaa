// SPDX-License-Identifier: Apache-2.0
#include "embedded/scheduler/preemption.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "api/builtin.hpp"
#include "embedded/scheduler/topology.hpp"
#include "kube/names/selector.hpp"

namespace athanor::scheduler {
namespace {

std::int64_t priority_of(const Object& pod) {
  return pod.spec()["priority"].as_int();
}

void by_importance(std::vector<Object>& pods) {
  std::ranges::stable_sort(pods, [](const Object& a, const Object& b) {
    return priority_of(a) != priority_of(b) ? priority_of(a) > priority_of(b)
                                            : a.creation_time() < b.creation_time();
  });
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
  Search(const View& view, const Candidate& candidate, std::vector<NodeState> nodes,
         const MoreChecks& more)
      : view_(view), candidate_(candidate), nodes_(std::move(nodes)), more_(more) {}

  // The victims on one node; nullopt: not even without all of lower priority.
  std::optional<Eviction> victims(std::size_t index) {
    const NodeState before = nodes_[index];
    const std::int64_t priority = priority_of(candidate_.pod);
    std::vector<Object> stays;
    std::vector<Object> lower;
    for (const Object& pod : before.residents) {
      (priority_of(pod) < priority ? lower : stays).push_back(pod);
    }
    // Spares as many as possible, the important and the old first.
    by_importance(lower);
    std::optional<Eviction> found;
    if (!lower.empty() && fits(index, before, stays)) {
      found.emplace(Eviction{.node = index});
      const auto [kept, free] = by_budgets(lower);
      // Those that budgets keep are spared first.
      for (const std::vector<Object>* pods : {&kept, &free}) {
        for (const Object& pod : *pods) {
          stays.push_back(pod);
          if (!fits(index, before, stays)) {
            stays.pop_back();
            found->victims.push_back(pod);
            found->violations += pods == &kept ? 1 : 0;
          }
        }
      }
      by_importance(found->victims);
    }
    nodes_[index] = before;
    return found;
  }

 private:
  bool fits(std::size_t index, const NodeState& before, const std::vector<Object>& residents) {
    nodes_[index] = with_residents(before, residents);
    return check(candidate_, nodes_[index]).reasons.empty() &&
           Topology(view_, candidate_.pod, nodes_).check(nodes_[index]).reasons.empty() &&
           (!more_ || more_(nodes_[index], gone(before, residents)));
  }

  static std::vector<std::string_view> gone(const NodeState& before,
                                            const std::vector<Object>& residents) {
    std::vector<std::string_view> uids;
    for (const Object& pod : before.residents) {
      const bool stays = std::ranges::any_of(
          residents, [&](const Object& other) { return other.uid() == pod.uid(); });
      if (!stays) {
        uids.push_back(pod.uid());
      }
    }
    return uids;
  }

  // The pods that some budget would have to let go without being able to, and the others; both in
  // their order.
  std::pair<std::vector<Object>, std::vector<Object>> by_budgets(const std::vector<Object>& pods) {
    if (!budgets_) {
      budgets_ = view_.list(api::kPodDisruptionBudget);
    }
    std::vector<std::int64_t> allowed;
    for (const Object& budget : *budgets_) {
      allowed.push_back(budget.status()["disruptionsAllowed"].as_int());
    }
    std::pair<std::vector<Object>, std::vector<Object>> result;
    for (const Object& pod : pods) {
      bool kept = false;
      for (std::size_t i = 0; i < budgets_->size(); ++i) {
        if (covers((*budgets_)[i], pod)) {
          kept = --allowed[i] < 0 || kept;
        }
      }
      (kept ? result.first : result.second).push_back(pod);
    }
    return result;
  }

  static bool covers(const Object& budget, const Object& pod) {
    const auto selector = LabelSelector::from_value(budget.spec()["selector"]);
    return budget.ns() == pod.ns() && selector.ok() && !selector->empty() &&
           selector->matches(pod.metadata()["labels"]) &&
           !budget.status()["disruptedPods"].contains(pod.name());
  }

  const View& view_;
  const Candidate& candidate_;
  std::vector<NodeState> nodes_;
  const MoreChecks& more_;
  std::optional<std::vector<Object>> budgets_{};
};

// The less, the better.
auto loss(const Eviction& eviction) {
  const std::vector<Object>& victims = eviction.victims;
  std::int64_t highest = priority_of(victims.front());
  std::int64_t sum = 0;
  for (const Object& pod : victims) {
    sum += priority_of(pod);
  }
  return std::tuple(eviction.violations, highest, sum, victims.size());
}

}  // namespace

std::optional<Eviction> find_eviction(const View& view, const Candidate& candidate,
                                      const std::vector<NodeState>& nodes,
                                      const std::vector<bool>& hopeless, const MoreChecks& more) {
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
      search.emplace(view, candidate, nodes, more);
    }
    auto found = search->victims(i);
    if (found && !found->victims.empty() && (!best || loss(*found) < loss(*best))) {
      best = std::move(found);
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
