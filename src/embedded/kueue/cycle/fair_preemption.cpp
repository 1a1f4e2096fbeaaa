// SPDX-License-Identifier: Apache-2.0
// Preemption-based fair sharing: the queue with the largest share gives first.
#include "embedded/kueue/cycle/fair_preemption.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace athanor::kueue {
namespace {

using NodeId = QuotaTree::NodeId;

// The candidates of one queue, in order; each is read when its turn comes.
class Donor {
 public:
  Donor(const ClusterQueue& queue, PreemptionPolicy policy) : queue_(&queue), policy_(policy) {}
  Donor(const ClusterQueue& queue, std::vector<const Held*> candidates)
      : queue_(&queue), opened_(true), candidates_(std::move(candidates)) {}

  [[nodiscard]] const ClusterQueue& queue() const { return *queue_; }
  // Makes the candidates known, once.
  void open(HeldWorkloads& held, const Claim& claim) {
    if (std::exchange(opened_, true)) {
      return;
    }
    std::vector<CandidateMerge::Source> sources;
    for (HeldLine* line : held.lines(*queue_, claim.scarce)) {
      sources.push_back({.line = line, .policy = policy_});
    }
    for (const bool evicted : {true, false}) {
      rest_.emplace_back(claim.preemptor, sources, evicted);
    }
  }
  [[nodiscard]] bool empty() {
    while (next_ == candidates_.size() && !rest_.empty()) {
      if (const Held* one = rest_.front().next().held) {
        candidates_.push_back(one);
      } else {
        rest_.erase(rest_.begin());
      }
    }
    return next_ == candidates_.size();
  }
  // Requires that it is not empty().
  const Held& take() { return *candidates_[next_++]; }
  void drop() {
    rest_.clear();
    next_ = candidates_.size();
  }

 private:
  const ClusterQueue* queue_ = nullptr;
  PreemptionPolicy policy_ = PreemptionPolicy::Never;
  bool opened_ = false;
  std::vector<const Held*> candidates_{};
  std::size_t next_ = 0;
  std::vector<CandidateMerge> rest_{};  // behind `candidates_`, one after the other
};

using Donors = std::map<NodeId, Donor>;

class Search {
 public:
  Search(const Snapshot& snapshot, QuotaTree& quota, HeldWorkloads& held, FairShares& shares,
         const std::vector<FairStrategy>& strategies, const Claim& claim)
      : snapshot_(snapshot),
        quota_(quota),
        held_(held),
        shares_(shares),
        strategies_(strategies),
        claim_(claim) {}

  std::vector<Target> run() {
    Donors donors = collect();
    if (donors.empty() || strategies_.empty()) {
      return {};
    }
    claim(1);  // shares count what the claim will use
    const bool found = first_strategy(donors) || (strategies_.size() > 1 && second_strategy());
    claim(-1);
    if (!found) {
      for (const Target& target : targets_) {
        restore(quota_, *target.held);
      }
      return {};
    }
    keep_fewest(quota_, claim_, true, targets_);
    return std::move(targets_);
  }

 private:
  [[nodiscard]] const ClusterQueue& own() const { return *claim_.preemptor.queue; }

  void claim(Amount sign) {
    for (const auto& [cell, amount] : claim_.usage) {
      quota_.add_usage(own().node, cell, sign * amount);
    }
  }
  bool fits_now() {
    claim(-1);
    const bool fit = fits(quota_, own(), claim_.usage, true);
    claim(1);
    return fit;
  }

  Donors collect() {
    Donors donors;
    add(donors, own(), own().within_queue);
    std::optional<NodeId> root = quota_.parent(own().node);
    if (root && own().reclaim != PreemptionPolicy::Never) {
      while (const auto above = quota_.parent(*root)) {
        root = above;
      }
      collect_below(donors, *root);
    }
    return donors;
  }
  void collect_below(Donors& donors, NodeId cohort) {
    for (const NodeId child : snapshot_.nodes[cohort].cohorts) {
      collect_below(donors, child);
    }
    for (const ClusterQueue* queue : snapshot_.nodes[cohort].queues) {
      if (queue != claim_.preemptor.queue && !within_nominal(quota_, queue->node, claim_.scarce)) {
        add(donors, *queue, own().reclaim);
      }
    }
  }
  void add(Donors& donors, const ClusterQueue& queue, PreemptionPolicy policy) {
    if (policy == PreemptionPolicy::Never) {
      return;
    }
    donors.emplace(queue.node, Donor(queue, policy));
  }
  bool has_candidates(Donor& donor) {
    donor.open(held_, claim_);
    return !donor.empty();
  }

  // ---- the order of donors: from the root down, the largest share
  Donor* next_donor(Donors& donors) {
    const auto parent = quota_.parent(own().node);
    if (!parent) {
      const auto at = donors.find(own().node);
      return at == donors.end() || !has_candidates(at->second) ? nullptr : &at->second;
    }
    NodeId root = *parent;
    while (const auto above = quota_.parent(root)) {
      root = *above;
    }
    while (!pruned_.contains(root)) {
      if (Donor* donor = next_below(donors, root)) {
        return donor;
      }
    }
    return nullptr;
  }
  [[nodiscard]] bool is_around_preemptor(NodeId cohort) const {
    for (auto node = quota_.parent(own().node); node; node = quota_.parent(*node)) {
      if (*node == cohort) {
        return true;
      }
    }
    return false;
  }
  Donor* next_below(Donors& donors, NodeId cohort) {
    Donor* best = nullptr;
    Share best_share{.value = -1};
    for (const ClusterQueue* queue : snapshot_.nodes[cohort].queues) {
      const auto donor = donors.find(queue->node);
      if (donor == donors.end() || pruned_.contains(queue->node)) {
        continue;
      }
      const Share share = shares_.share(quota_, queue->node);
      if (!share.borrows() && queue != claim_.preemptor.queue) {
        pruned_.insert(queue->node);
      } else if (share > best_share && has_candidates(donor->second)) {
        best_share = share;
        best = &donor->second;
      }
    }
    std::optional<NodeId> best_cohort;
    Share best_cohort_share{.value = -1};
    for (const NodeId child : snapshot_.nodes[cohort].cohorts) {
      if (pruned_.contains(child)) {
        continue;
      }
      const Share share = shares_.share(quota_, child);
      if (!share.borrows() && !is_around_preemptor(child)) {
        pruned_.insert(child);
      } else if (share > best_cohort_share) {
        best_cohort_share = share;
        best_cohort = child;
      }
    }
    if (best == nullptr && !best_cohort) {
      pruned_.insert(cohort);
      return nullptr;
    }
    return best_cohort && best_cohort_share >= best_share ? next_below(donors, *best_cohort) : best;
  }

  // ---- shares of the two branches that meet in the lowest common cohort
  struct Branches {
    NodeId preemptor = 0;
    NodeId donor = 0;
  };
  [[nodiscard]] Branches branches(const ClusterQueue& donor) const {
    std::map<NodeId, NodeId> below;  // cohort around the preemptor: its child on the way
    NodeId node = own().node;
    while (const auto parent = quota_.parent(node)) {
      below.emplace(*parent, node);
      node = *parent;
    }
    NodeId other = donor.node;
    while (const auto parent = quota_.parent(other)) {
      if (const auto common = below.find(*parent); common != below.end()) {
        return {.preemptor = common->second, .donor = other};
      }
      other = *parent;
    }
    return {.preemptor = own().node, .donor = donor.node};
  }
  static bool allows(FairStrategy strategy, const Share& preemptor, const Share& donor_before,
                     const Share& donor_after) {
    return strategy == FairStrategy::LessThanOrEqualToFinalShare ? preemptor <= donor_after
                                                                 : preemptor < donor_before;
  }

  // Returns true if no strategy lets the preemptor take from this donor nor from any after it. Both
  // need preemptor <= before. A preemptor directly below the root meets every donor there, and
  // donors come by falling share at the root: what follows has no larger share, and the preemptor's
  // own queue, were it one, would have come before.
  [[nodiscard]] bool none_gives_more(const Share& preemptor, const Share& before) const {
    const auto parent = quota_.parent(own().node);
    return preemptor > before && parent && !quota_.parent(*parent);
  }

  bool take(const Held& held, PreemptedFor why) {
    release(quota_, held);
    targets_.push_back({.held = &held, .why = why});
    return fits_now();
  }

  bool first_strategy(Donors& donors) {
    while (Donor* donor = next_donor(donors)) {
      if (&donor->queue() == claim_.preemptor.queue) {
        if (take(donor->take(), PreemptedFor::InClusterQueue)) {
          return true;
        }
        continue;
      }
      const Branches both = branches(donor->queue());
      const Share preemptor = shares_.share(quota_, both.preemptor);
      const Share before = shares_.share(quota_, both.donor);
      if (none_gives_more(preemptor, before)) {
        return false;
      }
      while (!donor->empty()) {
        const Held& held = donor->take();
        if (preemptor.borrows() && held.times_preempted >= kMostFairPreemptions) {
          continue;
        }
        release(quota_, held);
        const Share after = shares_.share(quota_, both.donor);
        restore(quota_, held);
        if (!allows(strategies_.front(), preemptor, before, after)) {
          spared_[donor->queue().node].push_back(&held);
          continue;
        }
        if (take(held, PreemptedFor::InCohortFairSharing)) {
          return true;
        }
        break;  // another queue may have the largest share now
      }
    }
    return false;
  }

  bool second_strategy() {
    Donors donors;
    for (auto& [node, spared] : spared_) {
      donors.emplace(node, Donor(*snapshot_.nodes[node].queue, std::move(spared)));
    }
    pruned_.clear();
    while (Donor* donor = next_donor(donors)) {
      const Branches both = branches(donor->queue());
      const Share preemptor = shares_.share(quota_, both.preemptor);
      const Share before = shares_.share(quota_, both.donor);
      if (none_gives_more(preemptor, before)) {
        return false;
      }
      if (allows(FairStrategy::LessThanInitialShare, preemptor, before, {}) &&
          take(donor->take(), PreemptedFor::InCohortFairSharing)) {
        return true;
      }
      donor->drop();
    }
    return false;
  }

  const Snapshot& snapshot_;
  QuotaTree& quota_;
  HeldWorkloads& held_;
  FairShares& shares_;
  const std::vector<FairStrategy>& strategies_;
  const Claim& claim_;
  std::set<NodeId> pruned_{};
  std::map<NodeId, std::vector<const Held*>> spared_{};
  std::vector<Target> targets_{};
};

}  // namespace

std::vector<Target> fair_preemption_targets(const Snapshot& snapshot, QuotaTree& quota,
                                            HeldWorkloads& held, FairShares& shares,
                                            const std::vector<FairStrategy>& strategies,
                                            const Claim& claim) {
  return Search(snapshot, quota, held, shares, strategies, claim).run();
}

}  // namespace athanor::kueue
