// SPDX-License-Identifier: Apache-2.0
// Preemption-based fair sharing: the queue with the largest share gives first.
#include "embedded/kueue/cycle/fair_preemption.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <tuple>
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
  // Both require that it is not empty().
  [[nodiscard]] const Held& first() const { return *candidates_[next_]; }
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

// A donor's place among those directly below one cohort.
struct Standing {
  Share share{};
  NodeId queue = 0;
  std::size_t donor = 0;
  // The last in this order gives first: the largest share; largest_of_queues() decides between
  // equal ones.
  friend bool operator<(const Standing& a, const Standing& b) {
    return a.share == b.share ? a.queue > b.queue : a.share < b.share;
  }
};

// Donors by the cohort around them; a queue without one stands for its cohort.
class Donors {
 public:
  struct Below {
    bool sorted = false;
    std::vector<Standing> order{};
  };
  void add(NodeId cohort, Donor donor) {
    below_[cohort].order.push_back({.queue = donor.queue().node, .donor = donors_.size()});
    donors_.push_back(std::move(donor));
  }
  [[nodiscard]] bool empty() const { return donors_.empty(); }
  [[nodiscard]] Below& below(NodeId cohort) { return below_[cohort]; }
  // Valid until the next add().
  [[nodiscard]] Donor& at(const Standing& standing) { return donors_[standing.donor]; }

 private:
  std::map<NodeId, Below> below_{};
  std::vector<Donor> donors_{};
};

class FairSearch {
 public:
  FairSearch(const Snapshot& snapshot, QuotaTree& quota, HeldWorkloads& held, FairShares& shares,
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
    donors.add(cohort_of(queue), Donor(queue, policy));
  }
  [[nodiscard]] NodeId cohort_of(const ClusterQueue& queue) const {
    return quota_.parent(queue.node).value_or(queue.node);
  }
  bool has_candidates(Donor& donor) {
    donor.open(held_, claim_);
    return !donor.empty();
  }

  // ---- the order of donors: from the root down, the largest share
  Donor* next_donor(Donors& donors) {
    NodeId root = cohort_of(own());
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
    const auto [best, best_share] = largest_of_queues(donors, cohort);
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

  // The share of a queue changes only when it gives, so that each is computed once, and again by
  // gave().
  std::pair<Donor*, Share> largest_of_queues(Donors& donors, NodeId cohort) {
    auto& [sorted, order] = donors.below(cohort);
    if (!std::exchange(sorted, true)) {
      std::erase_if(order, [&](Standing& standing) { return !stands(standing); });
      std::ranges::sort(order, std::less<>());
    }
    while (!order.empty() && !has_candidates(donors.at(order.back()))) {
      order.pop_back();
    }
    // Of equal shares the one whose candidate comes first.
    for (std::size_t i = order.size(); i-- > 1 && order[i - 1].share == order.back().share;) {
      if (has_candidates(donors.at(order[i - 1])) &&
          comes_before(donors.at(order[i - 1]).first(), donors.at(order.back()).first())) {
        std::swap(order[i - 1], order.back());
      }
    }
    return order.empty() ? std::pair(static_cast<Donor*>(nullptr), Share{.value = -1})
                         : std::pair(&donors.at(order.back()), order.back().share);
  }
  // Returns true if one candidate is preempted before the other (7.8).
  [[nodiscard]] bool comes_before(const Held& one, const Held& other) const {
    const auto place = [&](const Held& held) {
      return std::tuple(!held.evicted, held.queue == claim_.preemptor.queue, held.priority,
                        -held.reserved, held.uid);
    };
    return place(one) < place(other);
  }
  // Computes the share. False: the queue gives nothing any more.
  bool stands(Standing& standing) {
    standing.share = shares_.share(quota_, standing.queue);
    return standing.share.borrows() || standing.queue == own().node;
  }
  // Moves the donor that gave last to its new place.
  void gave(Donors& donors, const Donor& donor) {
    std::vector<Standing>& order = donors.below(cohort_of(donor.queue())).order;
    Standing standing = order.back();
    order.pop_back();
    if (stands(standing)) {
      order.insert(std::lower_bound(order.begin(), order.end(), standing), standing);
    }
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
    // Within its own quota, the claim is counted, a queue takes back what others borrow, whatever
    // the shares are.
    const bool owns_claim = within_nominal(quota_, own().node, claim_.scarce);
    while (Donor* donor = next_donor(donors)) {
      if (&donor->queue() == claim_.preemptor.queue) {
        if (take(donor->take(), PreemptedFor::InClusterQueue)) {
          return true;
        }
        gave(donors, *donor);
        continue;
      }
      if (owns_claim) {
        if (take(donor->take(), PreemptedFor::InCohortReclamation)) {
          return true;
        }
        gave(donors, *donor);
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
        if (preemptor.borrows() && times_preempted(held.object) >= kMostPreemptionsForBorrowers) {
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
        gave(donors, *donor);
        break;  // another queue may have the largest share now
      }
    }
    return false;
  }

  bool second_strategy() {
    Donors donors;
    for (auto& [node, spared] : spared_) {
      const ClusterQueue& queue = *snapshot_.nodes[node].queue;
      donors.add(cohort_of(queue), Donor(queue, std::move(spared)));
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
  std::set<NodeId> pruned_{};  // cohorts
  std::map<NodeId, std::vector<const Held*>> spared_{};
  std::vector<Target> targets_{};
};

}  // namespace

std::vector<Target> fair_preemption_targets(const Snapshot& snapshot, QuotaTree& quota,
                                            HeldWorkloads& held, FairShares& shares,
                                            const std::vector<FairStrategy>& strategies,
                                            const Claim& claim) {
  return FairSearch(snapshot, quota, held, shares, strategies, claim).run();
}

}  // namespace athanor::kueue
