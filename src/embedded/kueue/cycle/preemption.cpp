// SPDX-License-Identifier: Apache-2.0
// Classical preemption.
#include "embedded/kueue/cycle/preemption.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "embedded/kueue/model/workload_info.hpp"

namespace athanor::kueue {
namespace {

using NodeId = QuotaTree::NodeId;
using CellId = QuotaTree::CellId;

// A queue whose workloads may be preempted.
struct Origin {
  const ClusterQueue* queue = nullptr;
  NodeId common = 0;  // the lowest cohort that is around the preemptor, too
  bool advantage =
      false;  // the claim is within the quota of a cohort that this queue is outside of
};

struct Candidate {
  const Held* held = nullptr;
  const Origin* origin = nullptr;
  PreemptedFor why = PreemptedFor::InClusterQueue;
  bool not_while_borrowing = false;
};

// Whether the requests are within the quota of a node; they become what is left for the cohorts
// above it.
bool fit_in_quota(const QuotaTree& quota, NodeId node, CellAmounts& requests) {
  bool fit = true;
  for (auto& [cell, amount] : requests) {
    fit = fit && quota.usage(node, cell) + amount <= quota.subtree(node, cell);
    amount = std::max<Amount>(0, amount - quota.local_available(node, cell));
  }
  return fit;
}

class Search {
 public:
  Search(const Snapshot& snapshot, QuotaTree& quota, HeldWorkloads& held, const Claim& claim)
      : snapshot_(snapshot), quota_(quota), held_(held), claim_(claim) {}

  std::vector<Target> run() {
    collect();
    for (const bool borrowing : attempts()) {
      if (auto targets = attempt(borrowing); !targets.empty()) {
        return targets;
      }
    }
    return {};
  }

 private:
  [[nodiscard]] const ClusterQueue& own() const { return *claim_.preemptor.queue; }

  // The queues to look at, by group: with advantage, without, the own.
  void collect() {
    if (own().reclaim != PreemptionPolicy::Never) {
      collect_in_cohorts();
    }
    if (own().within_queue != PreemptionPolicy::Never) {
      origins_.push_back({.queue = claim_.preemptor.queue, .common = own().node});
    }
    for (std::size_t i = 0; i < origins_.size(); ++i) {
      const Origin& origin = origins_[i];
      const bool is_own = origin.queue == claim_.preemptor.queue;
      const std::size_t group = is_own ? 2 : origin.advantage ? 0 : 1;
      for (HeldLine* line : held_.lines(*origin.queue, claim_.scarce)) {
        sources_.at(group).push_back(
            {.line = line, .policy = is_own ? own().within_queue : own().reclaim, .tag = i});
      }
    }
  }
  [[nodiscard]] bool has_candidates(std::size_t group) const {
    return std::ranges::any_of(sources_.at(group), [&](const CandidateMerge::Source& source) {
      return has_candidate(claim_.preemptor, source);
    });
  }

  void collect_in_cohorts() {
    std::optional<NodeId> cohort = quota_.parent(own().node);
    CellAmounts remaining = claim_.usage;
    bool advantage = fit_in_quota(quota_, own().node, remaining);
    std::optional<NodeId> below;
    while (cohort) {
      collect_below(*cohort, *cohort, below, advantage);
      if (!quota_.parent(*cohort)) {
        return;
      }
      advantage = fit_in_quota(quota_, *cohort, remaining) || advantage;
      below = cohort;
      cohort = quota_.parent(*cohort);
    }
  }
  void collect_below(NodeId cohort, NodeId common, std::optional<NodeId> skipped, bool advantage) {
    for (const NodeId child : snapshot_.nodes[cohort].cohorts) {
      if (child != skipped && !within_nominal(quota_, child, claim_.scarce)) {
        collect_below(child, common, skipped, advantage);
      }
    }
    for (const ClusterQueue* queue : snapshot_.nodes[cohort].queues) {
      if (queue != claim_.preemptor.queue && !within_nominal(quota_, queue->node, claim_.scarce)) {
        origins_.push_back({.queue = queue, .common = common, .advantage = advantage});
      }
    }
  }

  // Whether borrowing is allowed, attempt after attempt.
  [[nodiscard]] std::vector<bool> attempts() const {
    const bool hierarchical = has_candidates(0);
    const bool others = hierarchical || has_candidates(1);
    const bool forbidden = !own().preempts_while_borrowing;
    const bool under_nominal = std::ranges::all_of(claim_.scarce, [&](CellId cell) {
      return quota_.usage(own().node, cell) < quota_.nominal(own().node, cell);
    });
    if (!others || (forbidden && !under_nominal)) {
      return {true};
    }
    if (forbidden && !hierarchical) {
      return {false, true};
    }
    return {true, false};
  }

  [[nodiscard]] Candidate judged(const CandidateMerge::Candidate& found) const {
    const Origin& origin = origins_[found.tag];
    Candidate candidate{.held = found.held, .origin = &origin};
    if (origin.queue == claim_.preemptor.queue) {
      return candidate;
    }
    candidate.why = PreemptedFor::InCohortReclamation;
    if (!origin.advantage) {
      const std::int64_t priority = found.held->priority;
      candidate.not_while_borrowing =
          !own().preempts_while_borrowing || priority >= claim_.preemptor.priority ||
          (own().borrow_threshold && priority > *own().borrow_threshold) ||
          times_preempted(found.held->object) >= kMostPreemptionsForBorrowers;
      if (!candidate.not_while_borrowing) {
        candidate.why = PreemptedFor::InCohortReclaimWhileBorrowing;
      }
    }
    return candidate;
  }

  // The candidate at that place; nullptr behind the last.
  const Candidate* at(std::size_t index) {
    while (index >= order_.size() && section_ < 2 * sources_.size()) {
      if (!merge_) {
        merge_.emplace(claim_.preemptor, sources_.at(section_ % sources_.size()),
                       section_ < sources_.size());
      }
      const CandidateMerge::Candidate found = merge_->next();
      if (found.held == nullptr) {
        merge_.reset();
        ++section_;
      } else {
        order_.push_back(judged(found));
      }
    }
    return index < order_.size() ? &order_[index] : nullptr;
  }

  // Its queue, and what is between that and the common cohort, must still use more than their own.
  [[nodiscard]] bool is_valid(const Candidate& candidate, bool borrowing) const {
    const Origin& origin = *candidate.origin;
    if (origin.queue == claim_.preemptor.queue) {
      return true;
    }
    if (borrowing && candidate.not_while_borrowing) {
      return false;
    }
    for (std::optional<NodeId> node = origin.queue->node; node && *node != origin.common;
         node = quota_.parent(*node)) {
      if (within_nominal(quota_, *node, claim_.scarce)) {
        return false;
      }
    }
    return true;
  }

  std::vector<Target> attempt(bool borrowing) {
    std::vector<Target> targets;
    std::size_t index = 0;
    while (const Candidate* candidate = at(index++)) {
      if (!is_valid(*candidate, borrowing)) {
        continue;
      }
      release(quota_, *candidate->held);
      targets.push_back({.held = candidate->held, .why = candidate->why});
      if (fits(quota_, own(), claim_.usage, borrowing)) {
        keep_fewest(quota_, claim_, borrowing, targets);
        return targets;
      }
    }
    for (const Target& target : targets) {
      restore(quota_, *target.held);
    }
    return {};
  }

  const Snapshot& snapshot_;
  QuotaTree& quota_;
  HeldWorkloads& held_;
  const Claim& claim_;
  std::vector<Origin> origins_{};
  // By group: with advantage, without, the own queue's.
  std::array<std::vector<CandidateMerge::Source>, 3> sources_{};
  // The groups with what is evicted already, then those with the rest, each merged when its turn
  // comes.
  std::size_t section_ = 0;
  std::optional<CandidateMerge> merge_{};
  std::vector<Candidate> order_{};
};

}  // namespace

std::string_view reason_of(PreemptedFor why) {
  switch (why) {
    case PreemptedFor::InClusterQueue:
      return "InClusterQueue";
    case PreemptedFor::InCohortReclamation:
      return "InCohortReclamation";
    case PreemptedFor::InCohortFairSharing:
      return "InCohortFairSharing";
    case PreemptedFor::InCohortReclaimWhileBorrowing:
      return "InCohortReclaimWhileBorrowing";
  }
  return {};
}

std::string_view text_of(PreemptedFor why) {
  switch (why) {
    case PreemptedFor::InClusterQueue:
      return "prioritization in the ClusterQueue";
    case PreemptedFor::InCohortReclamation:
      return "reclamation within the cohort";
    case PreemptedFor::InCohortFairSharing:
      return "Fair Sharing within the cohort";
    case PreemptedFor::InCohortReclaimWhileBorrowing:
      return "reclamation within the cohort while borrowing";
  }
  return {};
}

void release(QuotaTree& quota, const Held& held) {
  for (const auto& [cell, amount] : held.usage) {
    quota.add_usage(held.queue->node, cell, -amount);
  }
}

void restore(QuotaTree& quota, const Held& held) {
  for (const auto& [cell, amount] : held.usage) {
    quota.add_usage(held.queue->node, cell, amount);
  }
}

bool fits(const QuotaTree& quota, const ClusterQueue& queue, const CellAmounts& usage,
          bool borrowing) {
  return std::ranges::all_of(usage, [&](const auto& entry) {
    const auto& [cell, amount] = entry;
    const bool within =
        borrowing || quota.usage(queue.node, cell) + amount <= quota.nominal(queue.node, cell);
    return within && amount <= quota.available(queue.node, cell);
  });
}

bool within_nominal(const QuotaTree& quota, NodeId node, const std::vector<CellId>& cells) {
  return std::ranges::all_of(
      cells, [&](CellId cell) { return quota.usage(node, cell) <= quota.subtree(node, cell); });
}

void keep_fewest(QuotaTree& quota, const Claim& claim, bool borrowing,
                 std::vector<Target>& targets) {
  if (targets.size() > 1) {
    for (std::size_t i = targets.size() - 1; i-- > 0;) {
      restore(quota, *targets[i].held);
      if (fits(quota, *claim.preemptor.queue, claim.usage, borrowing)) {
        targets.erase(targets.begin() + static_cast<std::ptrdiff_t>(i));
      } else {
        release(quota, *targets[i].held);
      }
    }
  }
  for (const Target& target : targets) {
    restore(quota, *target.held);
  }
}

std::vector<Target> preemption_targets(const Snapshot& snapshot, QuotaTree& quota,
                                       HeldWorkloads& held, const Claim& claim) {
  return Search(snapshot, quota, held, claim).run();
}

}  // namespace athanor::kueue
