// SPDX-License-Identifier: Apache-2.0
// The sentences of docs/spec/kueue.md 7.2 and 7.4 to 7.8, one function each.
#include "unit/embedded/kueue/model.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

#include "unit/embedded/kueue/model_fair.hpp"
#include "unit/embedded/kueue/model_tree.hpp"

namespace athanor::kueue::model {
namespace {

enum class Fit { No, NoCandidates, Preempt, Reclaim, Yes };

class Engine {
 public:
  explicit Engine(const World& world) : world_(world), tree_(world) {}

  // ---- 7.8 preemption
  struct Candidate {
    std::string job{};
    int group = 0;  // hierarchical reclaim, priority, own queue
    bool not_while_borrowing = false;
    std::string reason{};
  };
  using Cells = std::vector<std::string>;
  static bool holds_any(const Job& job, const Cells& scarce) {
    const Asks held = job.flavor.empty() ? Asks{} : asks_of(job, job.flavor);
    return std::ranges::any_of(held, [&](const auto& ask) {
      return std::ranges::find(scarce, ask.first) != scarce.end();
    });
  }
  // Whether all that is asked for is within the quota of a node below `common`.
  [[nodiscard]] bool has_advantage(const std::string& queue, const std::string& common,
                                   const Asks& asks) const {
    std::map<std::string, bool> within;
    for (const auto& [cell, amount] : asks) {
      for (const auto& [node, rest] : tree_.way_up(queue, cell, amount)) {
        const bool holds = tree_.holds(node, cell, rest);
        within[node] = within.contains(node) ? within[node] && holds : holds;
      }
    }
    for (std::string node = queue; node != common; node = tree_.parent(node)) {
      if (within[node]) {
        return true;
      }
    }
    return false;
  }
  [[nodiscard]] std::vector<Candidate> candidates(const Job& preemptor, const Asks& asks,
                                                  const Cells& scarce) const {
    const Node& own = world_.nodes.at(preemptor.queue);
    std::vector<Candidate> result;
    for (const auto& [name, job] : world_.jobs) {
      if (!holds_any(job, scarce)) {
        continue;
      }
      if (job.queue == preemptor.queue) {
        if (tree_.allows(own.within, preemptor, job)) {
          result.push_back({.job = name, .group = 2, .reason = "InClusterQueue"});
        }
        continue;
      }
      const auto [below, common] = tree_.branch(job.queue, preemptor.queue);
      if (common.empty() || !tree_.allows(own.reclaim, preemptor, job) ||
          !tree_.branch_borrows(job.queue, preemptor.queue, scarce)) {
        continue;
      }
      const bool advantage = has_advantage(preemptor.queue, common, asks);
      Candidate candidate{.job = name, .group = advantage ? 0 : 1, .reason = "InCohortReclamation"};
      if (!advantage) {
        candidate.not_while_borrowing = !own.borrow_within_cohort ||
                                        job.priority >= preemptor.priority ||
                                        (own.threshold && job.priority > *own.threshold) ||
                                        job.times_preempted >= kMostPreemptions;
        if (!candidate.not_while_borrowing) {
          candidate.reason = "InCohortReclaimWhileBorrowing";
        }
      }
      result.push_back(candidate);
    }
    std::ranges::sort(result, [&](const Candidate& a, const Candidate& b) {
      const auto key = [&](const Candidate& one) {
        const Job& job = world_.jobs.at(one.job);
        return std::tuple(!job.evicted, one.group, job.priority, -job.reserved, one.job);
      };
      return key(a) < key(b);
    });
    return result;
  }

  std::vector<Victim> victims(const Job& preemptor, const Asks& asks, const Cells& scarce) {
    const Node& own = world_.nodes.at(preemptor.queue);
    const std::vector<Candidate> all = candidates(preemptor, asks, scarce);
    const auto in_group = [&](int group) {
      return std::ranges::any_of(all, [&](const Candidate& one) { return one.group == group; });
    };
    const bool under = std::ranges::all_of(scarce, [&](const std::string& cell) {
      return tree_.use(preemptor.queue, cell) < tree_.quota(preemptor.queue, cell).nominal;
    });
    std::vector<bool> attempts{true, false};
    if ((!in_group(0) && !in_group(1)) || (!own.borrow_within_cohort && !under)) {
      attempts = {true};
    } else if (!own.borrow_within_cohort && !in_group(0)) {
      attempts = {false, true};
    }
    for (const bool borrowing : attempts) {
      std::vector<Victim> taken;
      bool room = false;
      const std::set<std::string> before = tree_.gone;
      for (const Candidate& one : all) {
        const std::string& queue = world_.jobs.at(one.job).queue;
        if (one.group != 2 && ((borrowing && one.not_while_borrowing) ||
                               !tree_.branch_borrows(queue, preemptor.queue, scarce))) {
          continue;
        }
        tree_.gone.insert(one.job);
        taken.push_back({.job = one.job, .reason = one.reason});
        if (tree_.has_room(preemptor.queue, asks, borrowing)) {
          room = true;
          break;
        }
      }
      if (room) {
        for (std::size_t i = taken.size() - 1; i-- > 0;) {
          tree_.gone.erase(taken[i].job);
          if (tree_.has_room(preemptor.queue, asks, borrowing)) {
            taken.erase(taken.begin() + static_cast<std::ptrdiff_t>(i));
          } else {
            tree_.gone.insert(taken[i].job);
          }
        }
      }
      tree_.gone = before;
      if (room) {
        return taken;
      }
    }
    return {};
  }

  // ---- 7.6 flavors
  struct Fitness {
    Fit fit = Fit::No;
    int height = 0;
    bool scarce = false;
  };
  struct Choice {
    Fit fit = Fit::No;
    int height = 0;  // that counts where flavors are compared
    std::string flavor{};
    std::vector<Victim> victims{};
    int highest = 0;
    Cells scarce{};
  };
  Fitness judge_cell(const Job& job, const std::string& cell, Amount amount) {
    const Node& queue = world_.nodes.at(job.queue);
    if (amount > tree_.capacity(job.queue, cell)) {
      return {.fit = Fit::No};
    }
    const int height = tree_.borrow_height(job.queue, cell, amount);
    if (amount <= tree_.available(job.queue, cell)) {
      return {.fit = Fit::Yes, .height = height};
    }
    const std::string node = tree_.lowest(job.queue, cell, amount);
    const bool in_hierarchy = !node.empty() && !tree_.parent(node).empty();
    if (amount > tree_.quota(job.queue, cell).nominal && !in_hierarchy &&
        !queue.borrow_within_cohort && !(world_.fair && queue.reclaim != "Never")) {
      return {.fit = Fit::No, .height = height, .scarce = true};
    }
    Fitness result{.fit = Fit::NoCandidates, .height = height, .scarce = true};
    const std::vector<Victim> found = victims_of(job, {{cell, amount}}, {cell});
    if (!found.empty()) {
      const std::set<std::string> before = tree_.gone;
      result.fit = Fit::Reclaim;
      for (const Victim& victim : found) {
        tree_.gone.insert(victim.job);
        if (world_.jobs.at(victim.job).queue == job.queue) {
          result.fit = Fit::Preempt;
        }
      }
      result.height = tree_.borrow_height(job.queue, cell, amount);
      tree_.gone = before;
    }
    return result;
  }
  std::vector<Victim> victims_of(const Job& job, const Asks& asks, const Cells& scarce) {
    return world_.fair ? fair_victims(world_, tree_, job, asks.front().first, asks.front().second)
                       : victims(job, asks, scarce);
  }
  // The worst of the resources.
  Choice judge(const Job& job, const std::string& flavor) {
    Choice choice{.fit = Fit::Yes, .flavor = flavor};
    for (const auto& [cell, amount] : asks_of(job, flavor)) {
      const Fitness one = judge_cell(job, cell, amount);
      if (std::tuple(one.fit, -one.height) < std::tuple(choice.fit, -choice.height)) {
        choice.fit = one.fit;
        choice.height = one.height;
      }
      choice.highest = std::max(choice.highest, one.height);
      if (one.scarce) {
        choice.scarce.push_back(cell);
      }
    }
    return choice;
  }
  // Begins again behind the flavor that ended the search, until one search admits or preempts, or
  // ends with the last flavor.
  Choice choose(const Job& job) {
    std::size_t start = 0;
    std::optional<Choice> first;
    do {
      Choice choice = search(job, start);
      if (choice.fit == Fit::Preempt || choice.fit == Fit::Reclaim) {
        choice.victims = victims_of(job, asks_of(job, choice.flavor), choice.scarce);
        if (choice.victims.empty()) {
          choice.fit = Fit::NoCandidates;
        }
      }
      if (choice.fit == Fit::Yes || !choice.victims.empty()) {
        return choice;
      }
      first = first.value_or(std::move(choice));
    } while (start > 0);
    return *first;
  }
  // `start` becomes the place behind the flavor that ended the search; 0: that was the last.
  Choice search(const Job& job, std::size_t& start) {
    const Node& queue = world_.nodes.at(job.queue);
    std::optional<Choice> best;
    const auto better = [&](const Choice& a, const Choice& b) {
      const bool viable = std::min(a.fit, b.fit) > Fit::NoCandidates;
      if (queue.prefers_preemption && (viable || (a.fit == b.fit && a.fit != Fit::No))) {
        return std::tuple(-a.height, a.fit) > std::tuple(-b.height, b.fit);
      }
      return std::tuple(a.fit, -a.height) > std::tuple(b.fit, -b.height);
    };
    const std::size_t end = queue.flavors.size();
    for (std::size_t place = std::exchange(start, 0); place < end; ++place) {
      Choice choice = judge(job, queue.flavors[place]);
      const bool stop = choice.fit > Fit::NoCandidates &&
                        (choice.fit == Fit::Yes || !queue.next_when_preempting) &&
                        (choice.height == 0 || !queue.next_when_borrowing);
      if (stop || !best || better(choice, *best)) {
        best = std::move(choice);
      }
      if (stop) {
        start = (place + 1) % end;
        break;
      }
    }
    return best.value_or(Choice{});
  }

  // ---- 7.1, 7.2, 7.4, 7.7
  using Place = std::tuple<bool, Amount, Amount, std::string>;
  [[nodiscard]] Place place(const std::string& name) const {
    const Job& job = world_.jobs.at(name);
    const bool first = job.sticky && !world_.nodes.at(job.queue).strict;
    return {!first, -job.priority, job.created, name};
  }
  Decision run() {
    for (const auto& [name, job] : world_.jobs) {
      if (job.flavor.empty()) {
        waiting_[job.queue].insert(place(name));
      }
    }
    while (round()) {
    }
    return decision_;
  }

 private:
  struct Entry {
    std::string name{};
    Choice choice{};
  };
  bool round() {
    std::vector<Entry> entries;
    took_ = false;
    std::vector<Kept> promised;
    std::swap(promised, tree_.promised);  // choices do not count it, nor that its victims go
    for (auto& [queue, line] : waiting_) {
      if (!line.empty()) {
        const std::string name = std::get<3>(*line.begin());
        entries.push_back({.name = name, .choice = choose(world_.jobs.at(name))});
      }
    }
    std::swap(promised, tree_.promised);
    const bool any = !entries.empty();
    // What was admitted before is no candidate yet: the next run chooses.
    if (!decision_.admitted.empty() && std::ranges::any_of(entries, [&](const Entry& entry) {
          return !entry.choice.victims.empty() && !awaits_victims(entry);
        })) {
      return false;
    }
    const auto others = std::ranges::stable_partition(entries, [&](const Entry& entry) {
                          return awaits_victims(entry);
                        }).begin();
    settle_in_order({entries.begin(), others});
    settle_in_order({others, entries.end()});
    tree_.kept_in_round.clear();
    return any;
  }
  // Preempted before: its victims are going, or have left it room.
  [[nodiscard]] bool awaits_victims(const Entry& entry) const {
    const std::vector<Victim>& victims = entry.choice.victims;
    return victims.empty() ? world_.jobs.at(entry.name).sticky && entry.choice.fit == Fit::Yes
                           : std::ranges::all_of(victims, [&](const Victim& victim) {
                               return world_.jobs.at(victim.job).evicted;
                             });
  }
  void settle_in_order(std::vector<Entry> entries) {
    while (!entries.empty()) {
      const std::size_t next = world_.fair ? fairest(entries) : lowest(entries);
      const Entry entry = entries[next];
      entries.erase(entries.begin() + static_cast<std::ptrdiff_t>(next));
      settle(entry);
    }
  }
  [[nodiscard]] std::tuple<Amount, Amount, std::string> age(const Entry& entry) const {
    const Job& job = world_.jobs.at(entry.name);
    return {-job.priority, job.created, entry.name};
  }
  [[nodiscard]] std::size_t lowest(const std::vector<Entry>& entries) const {
    const auto at = std::ranges::min_element(entries, {}, [&](const Entry& entry) {
      return std::tuple(entry.choice.highest, age(entry));
    });
    return static_cast<std::size_t>(at - entries.begin());
  }
  // The winner of the first entry's tree: from the root down, the lowest share with what is asked.
  [[nodiscard]] std::size_t fairest(const std::vector<Entry>& entries) {
    std::string root = world_.jobs.at(entries.front().name).queue;
    while (!tree_.parent(root).empty()) {
      root = tree_.parent(root);
    }
    return world_.nodes.at(root).queue ? 0 : winner_below(root, entries).value();
  }
  std::optional<std::size_t> winner_below(const std::string& cohort,
                                          const std::vector<Entry>& entries) {
    std::optional<std::size_t> best;
    std::optional<std::tuple<bool, Share, std::tuple<Amount, Amount, std::string>>> least;
    for (const std::string& child : tree_.children(cohort)) {
      std::optional<std::size_t> entry;
      if (world_.nodes.at(child).queue) {
        const auto at = std::ranges::find_if(
            entries, [&](const Entry& one) { return world_.jobs.at(one.name).queue == child; });
        entry = at == entries.end() ? std::nullopt
                                    : std::optional(static_cast<std::size_t>(at - entries.begin()));
      } else {
        entry = winner_below(child, entries);
      }
      if (!entry) {
        continue;
      }
      const Entry& one = entries[*entry];
      const Job& job = world_.jobs.at(one.name);
      const std::vector<Kept> before = tree_.kept;
      if (one.choice.fit != Fit::No) {
        keep(tree_.kept, job, one.choice.flavor);
      }
      const bool borrows =
          one.choice.fit != Fit::No &&
          std::ranges::any_of(asks_of(job, one.choice.flavor),
                              [&](const auto& ask) { return tree_.borrows(child, ask.first); });
      const std::tuple key(borrows, share_of(world_, tree_, child), age(one));
      tree_.kept = before;
      if (!least || key < *least) {
        least = key;
        best = entry;
      }
    }
    return best;
  }
  static void keep(std::vector<Kept>& list, const Job& job, const std::string& flavor) {
    for (const auto& [cell, amount] : asks_of(job, flavor)) {
      list.push_back({.queue = job.queue, .flavor = cell, .amount = amount});
    }
  }
  // Nobody of the queue is looked at any more.
  void block(const Job& job) { waiting_[job.queue].clear(); }
  void settle(const Entry& entry) {
    const Job& job = world_.jobs.at(entry.name);
    const Choice& choice = entry.choice;
    if (choice.fit != Fit::Yes && choice.victims.empty()) {
      refuse(job, choice);
      return;
    }
    const std::set<std::string> before = tree_.gone;
    tree_.gone.insert(preempted_.begin(), preempted_.end());
    for (const Victim& victim : choice.victims) {
      tree_.gone.insert(victim.job);
    }
    const Asks asks = asks_of(job, choice.flavor);
    bool fits = tree_.has_room(job.queue, asks, true);
    tree_.gone = before;
    if (choice.fit == Fit::Yes) {  // nothing is ever promised twice
      std::vector<Kept> others = tree_.promised;
      std::swap(others, tree_.promised);
      tree_.promised.clear();
      fits = fits && tree_.has_room(job.queue, asks, true);
      std::swap(others, tree_.promised);
    }
    if (!fits) {
      // What was kept in this round is free in the next one, what was taken is counted there.
      if (tree_.kept_in_round.empty() && (choice.fit != Fit::Yes || !took_)) {
        (job.sticky ? decision_.preempting : decision_.crowded_out).insert(entry.name);
        block(job);
      }
      return;
    }
    for (const Victim& victim : choice.victims) {
      if (preempted_.contains(victim.job)) {
        decision_.overlapping.insert(entry.name);
        block(job);
        return;
      }
    }
    took_ = true;
    keep(choice.fit == Fit::Yes ? tree_.kept : tree_.promised, job, choice.flavor);
    if (choice.fit == Fit::Yes) {
      decision_.admitted.emplace(entry.name, choice.flavor);
      waiting_[job.queue].erase(place(entry.name));
      return;
    }
    for (const Victim& victim : choice.victims) {
      preempted_.insert(victim.job);
      if (!world_.jobs.at(victim.job).evicted) {
        decision_.preempted.emplace(victim.job, victim.reason);
      }
    }
    decision_.preempting.insert(entry.name);
    block(job);
  }
  void refuse(const Job& job, const Choice& choice) {
    const Node& queue = world_.nodes.at(job.queue);
    if (choice.fit != Fit::No && (queue.reclaim != "Any" || job.sticky)) {
      for (const auto& [cell, amount] : asks_of(job, choice.flavor)) {
        const Quota quota = tree_.quota(job.queue, cell);
        const bool borrows = choice.highest > 0;
        const Amount most = quota.nominal + (borrows ? quota.borrowing.value_or(0) : 0);
        const Amount left = most - tree_.use(job.queue, cell);
        const bool unlimited = borrows && !quota.borrowing;
        const Amount kept = unlimited ? amount : std::max<Amount>(0, std::min(amount, left));
        if (kept > 0) {
          (queue.strict ? tree_.kept : tree_.kept_in_round)
              .push_back({.queue = job.queue, .flavor = cell, .amount = kept});
        }
      }
    }
    if (queue.strict) {
      block(job);
      return;
    }
    // All of the same shape are refused alike.
    std::erase_if(waiting_[job.queue], [&](const Place& other) {
      const Job& one = world_.jobs.at(std::get<3>(other));
      return one.need == job.need && one.slots == job.slots && one.came_back == job.came_back;
    });
  }

  const World& world_;
  Tree tree_;
  std::map<std::string, std::set<Place>> waiting_{};
  std::set<std::string> preempted_{};
  bool took_ = false;  // this round admits or preempts
  Decision decision_{};
};

}  // namespace

Decision decide(const World& world) {
  return Engine(world).run();
}

std::int64_t use_of(const World& world, const std::string& node, const std::string& cell) {
  return Tree(world).use(node, cell);
}

bool is_overdrawn(const World& world, const std::string& node, const std::string& cell) {
  const Tree tree(world);
  const std::int64_t used = tree.use(node, cell);
  const Quota own = tree.quota(node, cell);
  if (tree.parent(node).empty()) {
    return used > tree.subtree(node, cell);
  }
  return own.borrowing && used > tree.subtree(node, cell) + *own.borrowing;
}

namespace {

// docs/spec/kueue.md 16.4 numbers 3 and 4, so that the model is held to something, too.
TEST(Model, ReclaimsBorrowedQuota) {
  World world;
  world.nodes["team"] = {};
  for (const char* name : {"q1", "q2"}) {
    world.nodes[name] = {.parent = "team",
                         .quotas = {{"f", {.nominal = 8}}},
                         .queue = true,
                         .flavors = {"f"},
                         .reclaim = "Any"};
  }
  world.jobs["a"] = {.queue = "q1", .need = 12, .created = 1};
  EXPECT_EQ(decide(world).admitted, (std::map<std::string, std::string>{{"a", "f"}}));
  world.jobs["a"].flavor = "f";
  world.jobs["b"] = {.queue = "q2", .need = 8, .created = 2};
  const Decision decision = decide(world);
  EXPECT_EQ(decision.preempted, (std::map<std::string, std::string>{{"a", "InCohortReclamation"}}));
  EXPECT_EQ(decision.preempting, (std::set<std::string>{"b"}));
  EXPECT_TRUE(decision.admitted.empty());
}

}  // namespace
}  // namespace athanor::kueue::model
