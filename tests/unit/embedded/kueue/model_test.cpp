// SPDX-License-Identifier: Apache-2.0
// The sentences of docs/spec/kueue.md 7.2 and 7.4 to 7.8, one function each.
#include "unit/embedded/kueue/model.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>

namespace athanor::kueue::model {
namespace {

using Amount = std::int64_t;
enum class Fit { No, NoCandidates, Preempt, Reclaim, Yes };

// What is counted beside the jobs that hold quota: kept for somebody in this run.
struct Kept {
  std::string queue{};
  std::string flavor{};
  Amount amount = 0;
};

struct Victim {
  std::string job{};
  std::string reason{};
};

class Engine {
 public:
  explicit Engine(const World& world) : world_(world) {
    for (const auto& [name, node] : world.nodes) {
      children_[node.parent].push_back(name);
    }
  }

  // ---- 7.6 arithmetic
  [[nodiscard]] Quota quota(const std::string& node, const std::string& flavor) const {
    const auto& quotas = world_.nodes.at(node).quotas;
    const auto at = quotas.find(flavor);
    return at == quotas.end() ? Quota{} : at->second;
  }
  [[nodiscard]] std::string parent(const std::string& node) const {
    return world_.nodes.at(node).parent;
  }
  [[nodiscard]] const std::vector<std::string>& children(const std::string& node) const {
    static const std::vector<std::string> kNone;
    const auto at = children_.find(node);
    return at == children_.end() ? kNone : at->second;
  }
  [[nodiscard]] Amount subtree(const std::string& node, const std::string& flavor) const {
    Amount sum = quota(node, flavor).nominal;
    for (const std::string& child : children(node)) {
      sum += subtree(child, flavor) - local(child, flavor);
    }
    return sum;
  }
  [[nodiscard]] Amount local(const std::string& node, const std::string& flavor) const {
    const Quota own = quota(node, flavor);
    return own.lending ? std::max<Amount>(0, subtree(node, flavor) - *own.lending) : 0;
  }
  [[nodiscard]] Amount use(const std::string& node, const std::string& flavor) const {
    Amount sum = 0;
    if (world_.nodes.at(node).queue) {
      for (const auto& [name, job] : world_.jobs) {
        if (job.queue == node && job.flavor == flavor && !gone_.contains(name)) {
          sum += job.need;
        }
      }
      for (const auto* kept : {&kept_, &promised_, &kept_in_round_}) {
        for (const Kept& one : *kept) {
          sum += one.queue == node && one.flavor == flavor ? one.amount : 0;
        }
      }
      return sum;
    }
    for (const std::string& child : children(node)) {
      sum += std::max<Amount>(0, use(child, flavor) - local(child, flavor));
    }
    return sum;
  }
  [[nodiscard]] Amount available(const std::string& node, const std::string& flavor) const {
    const Amount used = use(node, flavor);
    if (parent(node).empty()) {
      return subtree(node, flavor) - used;
    }
    const Amount own = local(node, flavor);
    Amount above = available(parent(node), flavor);
    if (const auto limit = quota(node, flavor).borrowing) {
      above =
          std::min(above, subtree(node, flavor) - own - std::max<Amount>(0, used - own) + *limit);
    }
    return std::max<Amount>(0, own - used) + above;
  }
  [[nodiscard]] Amount capacity(const std::string& node, const std::string& flavor) const {
    if (parent(node).empty()) {
      return subtree(node, flavor);
    }
    const Amount most = local(node, flavor) + capacity(parent(node), flavor);
    const auto limit = quota(node, flavor).borrowing;
    return limit ? std::min(most, subtree(node, flavor) + *limit) : most;
  }
  [[nodiscard]] int height(const std::string& node) const {
    int most = 0;
    for (const std::string& child : children(node)) {
      most = std::max(most, height(child) + 1);
    }
    return most;
  }
  // From the queue up: each node with what is left to be found there.
  [[nodiscard]] std::vector<std::pair<std::string, Amount>> way_up(const std::string& queue,
                                                                   const std::string& flavor,
                                                                   Amount amount) const {
    std::vector<std::pair<std::string, Amount>> way;
    for (std::string node = queue; !node.empty(); node = parent(node)) {
      way.emplace_back(node, amount);
      amount = std::max<Amount>(
          0, amount - std::max<Amount>(0, local(node, flavor) - use(node, flavor)));
    }
    return way;
  }
  [[nodiscard]] bool holds(const std::string& node, const std::string& flavor,
                           Amount amount) const {
    return use(node, flavor) + amount <= subtree(node, flavor);
  }
  [[nodiscard]] std::string lowest(const std::string& queue, const std::string& flavor,
                                   Amount amount) const {
    const auto way = way_up(queue, flavor, amount);
    for (const auto& [node, rest] : way) {
      if (holds(node, flavor, rest)) {
        return node;
      }
    }
    return "";
  }
  [[nodiscard]] int borrow_height(const std::string& queue, const std::string& flavor,
                                  Amount amount) const {
    const std::string node = lowest(queue, flavor, amount);
    return height(node.empty() ? way_up(queue, flavor, amount).back().first : node);
  }

  // ---- 7.8 preemption
  [[nodiscard]] bool allows(const std::string& policy, const Job& preemptor,
                            const Job& other) const {
    return policy == "Any" || (policy != "Never" && other.priority < preemptor.priority) ||
           (policy == "LowerOrNewerEqualPriority" && other.priority == preemptor.priority &&
            other.created > preemptor.created);
  }
  [[nodiscard]] std::vector<std::string> ancestors(const std::string& node) const {
    std::vector<std::string> result;
    for (std::string at = parent(node); !at.empty(); at = parent(at)) {
      result.push_back(at);
    }
    return result;
  }
  // Cohorts around `queue` up to, without, the first that is around `other`, too; and that one.
  [[nodiscard]] std::pair<std::vector<std::string>, std::string> branch(
      const std::string& queue, const std::string& other) const {
    const std::vector<std::string> others = ancestors(other);
    std::vector<std::string> below;
    for (const std::string& cohort : ancestors(queue)) {
      if (std::ranges::find(others, cohort) != others.end()) {
        return {below, cohort};
      }
      below.push_back(cohort);
    }
    return {below, ""};
  }
  [[nodiscard]] bool borrows(const std::string& node, const std::string& flavor) const {
    return use(node, flavor) > subtree(node, flavor);
  }
  [[nodiscard]] bool branch_borrows(const std::string& queue, const std::string& other,
                                    const std::string& flavor) const {
    const auto [below, common] = branch(queue, other);
    return borrows(queue, flavor) && std::ranges::all_of(below, [&](const std::string& cohort) {
             return borrows(cohort, flavor);
           });
  }

  struct Candidate {
    std::string job{};
    int group = 0;  // hierarchical reclaim, priority, own queue
    bool not_while_borrowing = false;
    std::string reason{};
  };
  [[nodiscard]] std::vector<Candidate> candidates(const Job& preemptor, const std::string& flavor,
                                                  Amount amount) const {
    const Node& own = world_.nodes.at(preemptor.queue);
    std::vector<Candidate> result;
    for (const auto& [name, job] : world_.jobs) {
      if (job.flavor != flavor) {
        continue;
      }
      if (job.queue == preemptor.queue) {
        if (allows(own.within, preemptor, job)) {
          result.push_back({.job = name, .group = 2, .reason = "InClusterQueue"});
        }
        continue;
      }
      const auto [below, common] = branch(job.queue, preemptor.queue);
      if (common.empty() || !allows(own.reclaim, preemptor, job) ||
          !branch_borrows(job.queue, preemptor.queue, flavor)) {
        continue;
      }
      bool advantage = false;
      for (const auto& [node, rest] : way_up(preemptor.queue, flavor, amount)) {
        if (node == common) {
          break;
        }
        advantage = advantage || holds(node, flavor, rest);
      }
      Candidate candidate{.job = name, .group = advantage ? 0 : 1, .reason = "InCohortReclamation"};
      if (!advantage) {
        candidate.not_while_borrowing = !own.borrow_within_cohort ||
                                        job.priority >= preemptor.priority ||
                                        (own.threshold && job.priority > *own.threshold);
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

  [[nodiscard]] bool has_room(const std::string& queue, const std::string& flavor, Amount amount,
                              bool borrowing) const {
    return amount <= available(queue, flavor) &&
           (borrowing || use(queue, flavor) + amount <= quota(queue, flavor).nominal);
  }

  std::vector<Victim> victims(const Job& preemptor, const std::string& flavor, Amount amount) {
    const Node& own = world_.nodes.at(preemptor.queue);
    const std::vector<Candidate> all = candidates(preemptor, flavor, amount);
    const auto in_group = [&](int group) {
      return std::ranges::any_of(all, [&](const Candidate& one) { return one.group == group; });
    };
    const bool under = use(preemptor.queue, flavor) < quota(preemptor.queue, flavor).nominal;
    std::vector<bool> attempts{true, false};
    if ((!in_group(0) && !in_group(1)) || (!own.borrow_within_cohort && !under)) {
      attempts = {true};
    } else if (!own.borrow_within_cohort && !in_group(0)) {
      attempts = {false, true};
    }
    for (const bool borrowing : attempts) {
      std::vector<Victim> taken;
      bool room = false;
      const std::set<std::string> before = gone_;
      for (const Candidate& one : all) {
        const std::string& queue = world_.jobs.at(one.job).queue;
        if (one.group != 2 && ((borrowing && one.not_while_borrowing) ||
                               !branch_borrows(queue, preemptor.queue, flavor))) {
          continue;
        }
        gone_.insert(one.job);
        taken.push_back({.job = one.job, .reason = one.reason});
        if (has_room(preemptor.queue, flavor, amount, borrowing)) {
          room = true;
          break;
        }
      }
      if (room) {
        for (std::size_t i = taken.size() - 1; i-- > 0;) {
          gone_.erase(taken[i].job);
          if (has_room(preemptor.queue, flavor, amount, borrowing)) {
            taken.erase(taken.begin() + static_cast<std::ptrdiff_t>(i));
          } else {
            gone_.insert(taken[i].job);
          }
        }
      }
      gone_ = before;
      if (room) {
        return taken;
      }
    }
    return {};
  }

  // ---- 7.6 flavors
  struct Choice {
    Fit fit = Fit::No;
    int height = 0;
    std::string flavor{};
    std::vector<Victim> victims{};
  };
  Choice judge(const Job& job, const std::string& flavor) {
    const Node& queue = world_.nodes.at(job.queue);
    if (job.need > capacity(job.queue, flavor)) {
      return {.fit = Fit::No, .flavor = flavor};
    }
    const int height = borrow_height(job.queue, flavor, job.need);
    if (job.need <= available(job.queue, flavor)) {
      return {.fit = Fit::Yes, .height = height, .flavor = flavor};
    }
    const std::string node = lowest(job.queue, flavor, job.need);
    const bool in_hierarchy = !node.empty() && !parent(node).empty();
    if (job.need > quota(job.queue, flavor).nominal && !in_hierarchy &&
        !queue.borrow_within_cohort) {
      return {.fit = Fit::No, .height = height, .flavor = flavor};
    }
    Choice choice{.fit = Fit::NoCandidates, .height = height, .flavor = flavor};
    choice.victims = victims(job, flavor, job.need);
    if (!choice.victims.empty()) {
      const std::set<std::string> before = gone_;
      choice.fit = Fit::Reclaim;
      for (const Victim& victim : choice.victims) {
        gone_.insert(victim.job);
        if (world_.jobs.at(victim.job).queue == job.queue) {
          choice.fit = Fit::Preempt;
        }
      }
      choice.height = borrow_height(job.queue, flavor, job.need);
      gone_ = before;
    }
    return choice;
  }
  Choice choose(const Job& job) {
    const Node& queue = world_.nodes.at(job.queue);
    std::optional<Choice> best;
    for (const std::string& flavor : queue.flavors) {
      Choice choice = judge(job, flavor);
      const auto better = [&](const Choice& a, const Choice& b) {
        if (queue.prefers_preemption && a.fit != Fit::No && b.fit != Fit::No) {
          return std::tuple(-a.height, a.fit) > std::tuple(-b.height, b.fit);
        }
        return std::tuple(a.fit, -a.height) > std::tuple(b.fit, -b.height);
      };
      const bool stop = choice.fit > Fit::NoCandidates &&
                        (choice.fit == Fit::Yes || !queue.next_when_preempting) &&
                        (choice.height == 0 || !queue.next_when_borrowing);
      if (!best || better(choice, *best)) {
        best = std::move(choice);
      }
      if (stop) {
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
    for (auto& [queue, line] : waiting_) {
      if (!line.empty()) {
        const std::string name = std::get<3>(*line.begin());
        entries.push_back({.name = name, .choice = choose(world_.jobs.at(name))});
      }
    }
    std::ranges::sort(entries, [&](const Entry& a, const Entry& b) {
      const auto key = [&](const Entry& entry) {
        const Job& job = world_.jobs.at(entry.name);
        return std::tuple(entry.choice.height, -job.priority, job.created, entry.name);
      };
      return key(a) < key(b);
    });
    for (const Entry& entry : entries) {
      settle(entry);
    }
    kept_in_round_.clear();
    return !entries.empty();
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
    const std::set<std::string> before = gone_;
    gone_.insert(preempted_.begin(), preempted_.end());
    for (const Victim& victim : choice.victims) {
      gone_.insert(victim.job);
    }
    bool fits = has_room(job.queue, choice.flavor, job.need, true);
    gone_ = before;
    if (choice.fit == Fit::Yes) {  // nothing is ever promised twice
      std::vector<Kept> others = promised_;
      std::swap(others, promised_);
      promised_.clear();
      fits = fits && has_room(job.queue, choice.flavor, job.need, true);
      std::swap(others, promised_);
    }
    if (!fits) {
      if (choice.fit != Fit::Yes) {
        decision_.crowded_out.insert(entry.name);
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
    (choice.fit == Fit::Yes ? kept_ : promised_)
        .push_back({.queue = job.queue, .flavor = choice.flavor, .amount = job.need});
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
    if (choice.fit != Fit::No && queue.reclaim != "Any") {
      const Amount own = quota(job.queue, choice.flavor).nominal - use(job.queue, choice.flavor);
      const Kept kept{.queue = job.queue,
                      .flavor = choice.flavor,
                      .amount = std::max<Amount>(0, std::min(job.need, own))};
      (queue.strict ? kept_ : kept_in_round_).push_back(kept);
    }
    if (queue.strict) {
      block(job);
      return;
    }
    // All of the same shape are refused alike.
    std::erase_if(waiting_[job.queue], [&](const Place& other) {
      const Job& one = world_.jobs.at(std::get<3>(other));
      return one.need == job.need && one.came_back == job.came_back;
    });
  }

  const World& world_;
  std::map<std::string, std::vector<std::string>> children_{};
  std::set<std::string> gone_{};  // jobs that are left out of the count
  std::vector<Kept> kept_{};
  std::vector<Kept> promised_{};  // to who preempts
  std::vector<Kept> kept_in_round_{};
  std::map<std::string, std::set<Place>> waiting_{};
  std::set<std::string> preempted_{};
  Decision decision_{};
};

}  // namespace

Decision decide(const World& world) {
  return Engine(world).run();
}

std::int64_t use_of(const World& world, const std::string& node, const std::string& flavor) {
  return Engine(world).use(node, flavor);
}

bool is_overdrawn(const World& world, const std::string& node, const std::string& flavor) {
  const Engine engine(world);
  const std::int64_t used = engine.use(node, flavor);
  const Quota own = engine.quota(node, flavor);
  if (engine.parent(node).empty()) {
    return used > engine.subtree(node, flavor);
  }
  return own.borrowing && used > engine.subtree(node, flavor) + *own.borrowing;
}

namespace {

// docs/spec/kueue.md 16.4 numbers 3 and 4, so that the model is held to something, too.
TEST(Model, ReclaimsWhatWasBorrowed) {
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
