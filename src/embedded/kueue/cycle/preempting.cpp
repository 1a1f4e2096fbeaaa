// SPDX-License-Identifier: Apache-2.0
// Nomination: flavors, targets, fewer pods.
#include "embedded/kueue/cycle/preempting.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "embedded/kueue/cycle/considered.hpp"
#include "embedded/kueue/cycle/requests.hpp"

namespace athanor::kueue {
namespace {

// The most rounds of one nomination: a search has so many flavors at most, and where several
// searches take turns, more rounds would hold up the other queues.
constexpr int kMostRounds = 64;

bool is_partial(const PodSetRequests& pod_set) {
  return pod_set.min_count && *pod_set.min_count < pod_set.count;
}

// Adds the reasons against flavors that only `from` tried, for the groups that `to` has reasons of.
void add_reasons(const ClusterQueue& queue, const Assignment& from, Assignment& to) {
  const auto group_of = [&](std::string_view flavor) {
    return std::ranges::find_if(queue.groups, [&](const ResourceGroup& group) {
      return std::ranges::any_of(group.flavors,
                                 [&](const FlavorQuotas& quotas) { return quotas.name == flavor; });
    });
  };
  for (std::size_t i = 0; i < to.pod_sets.size(); ++i) {
    std::vector<Reason>& known = to.pod_sets[i].reasons;
    const std::size_t before = known.size();
    for (const Reason& reason : from.pod_sets[i].reasons) {
      const auto group = group_of(reason.flavor);
      const auto is_of_group = [&](const Reason& other) {
        return !other.flavor.empty() && group_of(other.flavor) == group;
      };
      const auto is_of_flavor = [&](const Reason& other) { return other.flavor == reason.flavor; };
      const std::span<const Reason> own(known.data(), before);
      if (std::ranges::any_of(own, is_of_group) && std::ranges::none_of(own, is_of_flavor)) {
        known.push_back(reason);
      }
    }
  }
}

}  // namespace

class Preempting::Oracle final : public PreemptionOracle {
 public:
  Oracle(Preempting& preempting, const Preemptor& preemptor, bool passes)
      : preempting_(preempting), preemptor_(preemptor), passes_(passes) {}

  [[nodiscard]] bool may_gain(QuotaTree::CellId cell) override {
    return preempting_.may_gain(preemptor_, cell);
  }
  Possibility simulate(QuotaTree::CellId cell, Amount amount) override {
    QuotaTree& quota = preempting_.quota_;
    const ClusterQueue& queue = *preemptor_.queue;
    simulated_ = {{cell, amount}};
    targets_ = preempting_.targets({.preemptor = preemptor_, .usage = simulated_, .scarce = {cell}},
                                   passes_);
    const std::vector<Target>& targets = targets_;
    for (const Target& target : targets) {
      release(quota, *target.held);
    }
    const int height = quota.borrow_height(queue.node, cell, amount);
    for (const Target& target : targets) {
      restore(quota, *target.held);
    }
    if (targets.empty()) {
      return {.mode = Mode::NoPreemptionCandidates, .borrow_height = height};
    }
    const bool from_own = std::ranges::any_of(
        targets, [&](const Target& target) { return target.held->queue == &queue; });
    return {.mode = from_own ? Mode::Preempt : Mode::Reclaim, .borrow_height = height};
  }

  // The targets of the last simulation, if that was for all of this usage: quota is as it was then.
  [[nodiscard]] std::optional<std::vector<Target>> known(const CellAmounts& usage) const {
    return usage == simulated_ ? std::optional(targets_) : std::nullopt;
  }

 private:
  Preempting& preempting_;
  const Preemptor& preemptor_;
  bool passes_ = false;
  CellAmounts simulated_{};
  std::vector<Target> targets_{};
};

Preempting::Preempting(const View& view, const Snapshot& snapshot, QuotaTree& quota,
                       const Settings& settings)
    : snapshot_(snapshot), quota_(quota), settings_(settings), held_(view, snapshot) {
  for (const std::string& name : settings.preemption_strategies) {
    strategies_.push_back(name == "LessThanInitialShare"
                              ? FairStrategy::LessThanInitialShare
                              : FairStrategy::LessThanOrEqualToFinalShare);
  }
}

FairShares& Preempting::shares() {
  if (!shares_) {
    shares_.emplace(snapshot_);
  }
  return *shares_;
}

std::vector<Target> Preempting::targets(const Claim& claim, bool passes) {
  const bool barred = !passes && std::ranges::any_of(claim.scarce, [&](QuotaTree::CellId cell) {
    return barred_.contains(cell);
  });
  if (barred || !claim.preemptor.queue->may_preempt()) {
    return {};
  }
  return settings_.fair_sharing
             ? fair_preemption_targets(snapshot_, quota_, held_, shares(), strategies_, claim)
             : preemption_targets(snapshot_, quota_, held_, claim);
}

bool Preempting::may_gain(const Preemptor& preemptor, QuotaTree::CellId cell) {
  const ClusterQueue& queue = *preemptor.queue;
  return (queue.reclaim != PreemptionPolicy::Never && quota_.parent(queue.node)) ||
         std::ranges::any_of(held_.lines(queue, cell), [&](const HeldLine* line) {
           return may_satisfy(queue.within_queue, preemptor, *line);
         });
}

AssignOptions Preempting::options(Oracle& oracle, const Places& starts) const {
  return {.keys = settings_.flavor_selector_keys == "flavor" ? SelectorKeys::Flavor
                                                             : SelectorKeys::Group,
          .oracle = &oracle,
          .fair_sharing = settings_.fair_sharing,
          .ignores_undeclared = settings_.quota_check_strategy == "IgnoreUndeclared",
          .starts = starts};
}

std::string Preempting::considered(const Preemptor& preemptor,
                                   const std::vector<PodSetRequests>& requests,
                                   const Assignment& assignment, bool passes) {
  if (!assignment.guessed) {
    return considered_flavors(assignment);
  }
  std::vector<PodSetRequests> given = requests;
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (given[i].count != assignment.pod_sets[i].count) {
      given[i].set_count(assignment.pod_sets[i].count);
    }
  }
  Oracle oracle(*this, preemptor, passes);
  AssignOptions all = options(oracle, assignment.starts);
  all.simulates_all = true;
  return considered_flavors(assign_flavors(quota_, *preemptor.queue, given, all));
}

Preempting::Result Preempting::assign(const Places& starts, const Preemptor& preemptor,
                                      const std::vector<PodSetRequests>& requests, bool passes) {
  Oracle oracle(*this, preemptor, passes);
  Result result;
  result.assignment = assign_flavors(quota_, *preemptor.queue, requests, options(oracle, starts));
  Assignment& assignment = result.assignment;
  if (assignment.mode == Mode::Preempt || assignment.mode == Mode::Reclaim) {
    const CellAmounts usage = assignment.usage(quota_);
    if (auto known = oracle.known(usage)) {  // of one cell: it is the scarce one
      result.targets = *std::move(known);
    } else {
      result.targets =
          targets({.preemptor = preemptor, .usage = usage, .scarce = assignment.scarce}, passes);
    }
    if (result.targets.empty()) {
      assignment.mode = Mode::NoPreemptionCandidates;
    }
  }
  return result;
}

Preempting::Result Preempting::nominate(const Preemptor& preemptor,
                                        const std::vector<PodSetRequests>& requests, bool passes) {
  Result first = nominate_from({}, preemptor, requests, passes);
  if (first.admits() || (first.assignment.hopeless && std::ranges::none_of(requests, is_partial))) {
    return first;
  }
  Places starts = first.assignment.next;
  bool leaves_flavors = first.assignment.leaves_flavors();
  for (int round = 1; leaves_flavors && round < kMostRounds; ++round) {
    Result later = nominate_from(starts, preemptor, requests, passes);
    if (later.admits()) {
      add_reasons(*preemptor.queue, first.assignment, later.assignment);
      return later;
    }
    add_reasons(*preemptor.queue, later.assignment, first.assignment);
    starts = later.assignment.next;
    leaves_flavors = later.assignment.leaves_flavors();
  }
  return first;
}

Preempting::Result Preempting::nominate_from(const Places& starts, const Preemptor& preemptor,
                                             const std::vector<PodSetRequests>& requests,
                                             bool passes) {
  Result whole = assign(starts, preemptor, requests, passes);
  const auto partial = std::ranges::find_if(requests, is_partial);
  if (whole.admits() || partial == requests.end() || !settings_.partial_admission) {
    return whole;
  }
  const auto index = static_cast<std::size_t>(partial - requests.begin());
  // The smallest number of pods to leave out.
  std::int64_t low = 1;
  std::int64_t high = partial->count - *partial->min_count + 1;
  std::optional<Result> best;
  while (low < high) {
    const std::int64_t middle = low + (high - low) / 2;
    Result fewer =
        assign(starts, preemptor, with_count(requests, index, partial->count - middle), passes);
    if (fewer.admits()) {
      best = std::move(fewer);
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return best ? *std::move(best) : whole;
}

}  // namespace athanor::kueue
