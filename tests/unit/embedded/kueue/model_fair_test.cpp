// SPDX-License-Identifier: Apache-2.0
// The sentences of docs/spec/kueue.md 7.9, and the slow model held to some of them.
#include "unit/embedded/kueue/model_fair.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>

namespace athanor::kueue::model {
namespace {

using Donors = std::map<std::string, std::vector<std::string>>;  // queue: jobs, in turn

class FairSearch {
 public:
  FairSearch(const World& world, Tree& tree, const Job& preemptor, const std::string& flavor,
             Amount amount)
      : world_(world),
        tree_(tree),
        preemptor_(preemptor),
        own_(preemptor.queue),
        flavor_(flavor),
        amount_(amount) {
    for (root_ = tree.parent(own_); !root_.empty() && !tree.parent(root_).empty();) {
      root_ = tree.parent(root_);
    }
  }

  std::vector<Victim> run() {
    const std::set<std::string> before = tree_.gone;
    Donors donors = candidates();
    const Kept claim{.queue = own_, .flavor = flavor_, .amount = amount_};
    tree_.kept.push_back(claim);  // shares count what the claim will use
    bool room = !donors.empty() && (first_strategy(donors) || second_strategy());
    tree_.kept.pop_back();
    if (room) {
      for (std::size_t i = victims_.size() - 1; i-- > 0;) {
        tree_.gone.erase(victims_[i].job);
        if (tree_.has_room(own_, flavor_, amount_, true)) {
          victims_.erase(victims_.begin() + static_cast<std::ptrdiff_t>(i));
        } else {
          tree_.gone.insert(victims_[i].job);
        }
      }
    }
    tree_.gone = before;
    return room ? victims_ : std::vector<Victim>{};
  }

 private:
  [[nodiscard]] Share share(const std::string& node) const { return share_of(world_, tree_, node); }
  [[nodiscard]] static bool borrows(const Share& share) { return share > Share(); }

  Donors candidates() const {
    const Node& own = world_.nodes.at(own_);
    Donors donors;
    for (const auto& [name, job] : world_.jobs) {
      if (job.flavor != flavor_) {
        continue;
      }
      if (job.queue != own_) {
        const std::vector<std::string> around = tree_.ancestors(job.queue);
        if (std::ranges::find(around, root_) == around.end() ||
            !tree_.borrows(job.queue, flavor_)) {
          continue;
        }
      }
      if (tree_.allows(job.queue == own_ ? own.within : own.reclaim, preemptor_, job)) {
        donors[job.queue].push_back(name);
      }
    }
    for (auto& [queue, jobs] : donors) {
      std::ranges::sort(jobs, {}, [&](const std::string& name) { return turn(name); });
    }
    return donors;
  }
  using Turn = std::tuple<bool, bool, Amount, Amount, std::string>;
  [[nodiscard]] Turn turn(const std::string& name) const {
    const Job& job = world_.jobs.at(name);
    return {!job.evicted, job.queue == own_, job.priority, -job.reserved, name};
  }

  // From the root down, the node with the largest share; empty: none is left.
  std::string next_donor(const Donors& donors) {
    const auto has = [&](const std::string& queue) {
      const auto at = donors.find(queue);
      return at != donors.end() && !at->second.empty();
    };
    if (root_.empty()) {
      return has(own_) ? own_ : "";
    }
    while (!pruned_.contains(root_)) {
      std::string node = root_;
      while (!node.empty() && !world_.nodes.at(node).queue) {
        node = largest_below(node, donors, has);
      }
      if (!node.empty()) {
        return node;
      }
    }
    return "";
  }
  template <class Has>
  std::string largest_below(const std::string& cohort, const Donors& donors, const Has& has) {
    const std::vector<std::string> around = tree_.ancestors(own_);
    std::string best;
    Share best_share;
    // Queues first: of equal shares a cohort is taken.
    for (const bool queues : {true, false}) {
      for (const std::string& child : tree_.children(cohort)) {
        if (world_.nodes.at(child).queue != queues || pruned_.contains(child) ||
            (queues && !donors.contains(child))) {
          continue;
        }
        const Share its = share(child);
        const bool is_own = child == own_ || std::ranges::find(around, child) != around.end();
        if (!borrows(its) && !is_own) {
          pruned_.insert(child);
          continue;
        }
        if (queues && !has(child)) {
          continue;
        }
        const bool is_first_cohort = !queues && (best.empty() || world_.nodes.at(best).queue);
        const bool is_first_queue = queues && !best.empty() && its == best_share &&
                                    turn(donors.at(child).front()) < turn(donors.at(best).front());
        if (best.empty() || its > best_share || is_first_queue ||
            (is_first_cohort && its == best_share)) {
          best = child;
          best_share = its;
        }
      }
    }
    if (best.empty()) {
      pruned_.insert(cohort);
    }
    return best;
  }

  // The two nodes below the lowest cohort around both queues.
  [[nodiscard]] std::pair<std::string, std::string> branches(const std::string& donor) const {
    const auto below = [&](const std::string& queue, const std::string& other) {
      const auto [cohorts, common] = tree_.branch(queue, other);
      return cohorts.empty() ? queue : cohorts.back();
    };
    return {below(own_, donor), below(donor, own_)};
  }

  bool take(const std::string& job, const char* reason) {
    tree_.gone.insert(job);
    victims_.push_back({.job = job, .reason = reason});
    const Kept claim = tree_.kept.back();
    tree_.kept.pop_back();
    const bool room = tree_.has_room(own_, flavor_, amount_, true);
    tree_.kept.push_back(claim);
    return room;
  }

  bool first_strategy(Donors& donors) {
    const bool owns_claim = !tree_.borrows(own_, flavor_);
    for (std::string queue = next_donor(donors); !queue.empty(); queue = next_donor(donors)) {
      std::vector<std::string>& jobs = donors.at(queue);
      const auto [mine, theirs] = branches(queue);
      const Share preemptor = share(mine);
      while (!jobs.empty()) {
        const std::string job = jobs.front();
        jobs.erase(jobs.begin());
        if (queue == own_) {
          if (take(job, "InClusterQueue")) {
            return true;
          }
          break;
        }
        if (owns_claim) {
          if (take(job, "InCohortReclamation")) {
            return true;
          }
          break;
        }
        if (borrows(preemptor) && world_.jobs.at(job).times_preempted >= kMostPreemptions) {
          continue;
        }
        tree_.gone.insert(job);
        const bool fair = preemptor <= share(theirs);
        tree_.gone.erase(job);
        if (!fair) {
          spared_[queue].push_back(job);
          continue;
        }
        if (take(job, "InCohortFairSharing")) {
          return true;
        }
        break;  // another queue may have the largest share now
      }
    }
    return false;
  }
  bool second_strategy() {
    pruned_.clear();
    for (std::string queue = next_donor(spared_); !queue.empty(); queue = next_donor(spared_)) {
      const auto [mine, theirs] = branches(queue);
      if (share(mine) < share(theirs) && take(spared_.at(queue).front(), "InCohortFairSharing")) {
        return true;
      }
      spared_.at(queue).clear();
    }
    return false;
  }

  const World& world_;
  Tree& tree_;
  const Job& preemptor_;
  const std::string& own_;
  const std::string& flavor_;
  Amount amount_;
  std::string root_{};
  std::set<std::string> pruned_{};
  Donors spared_{};
  std::vector<Victim> victims_{};
};

}  // namespace

Share share_of(const World& world, const Tree& tree, const std::string& node) {
  const std::string parent = tree.parent(node);
  if (parent.empty()) {
    return {};
  }
  Amount borrowed = 0;
  Amount lendable = 0;
  for (const char* flavor : {"f", "g"}) {
    borrowed += std::max<Amount>(0, tree.use(node, flavor) - tree.subtree(node, flavor));
    lendable += tree.capacity(parent, flavor);
  }
  if (borrowed == 0) {
    return {};
  }
  const double ratio =
      lendable > 0 ? static_cast<double>(borrowed) * 1000 / static_cast<double>(lendable) : 0;
  const double weight = world.nodes.at(node).weight;
  return weight > 0 ? Share(false, ratio / weight) : Share(true, ratio);
}

std::vector<Victim> fair_victims(const World& world, Tree& tree, const Job& preemptor,
                                 const std::string& flavor, Amount amount) {
  return FairSearch(world, tree, preemptor, flavor, amount).run();
}

namespace {

// As FairSharing.TheSecondStrategyComparesWithTheShareBefore, so that the model is held to
// something, too.
TEST(FairModel, TakesFromTheLargerShareAlone) {
  World world{.fair = true};
  world.nodes["team"] = {};
  for (const char* name : {"a", "b"}) {
    world.nodes[name] = {.parent = "team",
                         .quotas = {{"f", {.nominal = 0}}},
                         .queue = true,
                         .flavors = {"f"},
                         .reclaim = "Any"};
  }
  world.nodes["bank"] = {
      .parent = "team", .quotas = {{"f", {.nominal = 6}}}, .queue = true, .flavors = {"f"}};
  world.jobs["big"] = {.queue = "a", .need = 6, .created = 1, .flavor = "f"};
  world.jobs["claim"] = {.queue = "b", .need = 2, .created = 2};
  EXPECT_EQ(decide(world).preempted,
            (std::map<std::string, std::string>{{"big", "InCohortFairSharing"}}));
  world.jobs["big"].times_preempted = kMostPreemptions;
  EXPECT_TRUE(decide(world).preempted.empty());
  world.jobs["big"].times_preempted = 0;
  world.nodes["b"].weight = 0;
  EXPECT_TRUE(decide(world).preempted.empty());
}

}  // namespace
}  // namespace athanor::kueue::model
