// SPDX-License-Identifier: Apache-2.0
// The quota arithmetic of the slow model (docs/spec/kueue.md 7.6): every sum is counted anew from
// the list of who holds what.
#pragma once

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "unit/embedded/kueue/model.hpp"

namespace athanor::kueue::model {

using Amount = std::int64_t;

// Quota counted beside that of the jobs: kept for a job in this run.
struct Kept {
  std::string queue{};
  std::string flavor{};
  Amount amount = 0;
};

struct Victim {
  std::string job{};
  std::string reason{};
};

class Tree {
 public:
  explicit Tree(const World& world) : world_(world) {
    for (const auto& [name, node] : world.nodes) {
      children_[node.parent].push_back(name);
    }
  }

  std::set<std::string> gone{};  // jobs that are left out of the count
  std::vector<Kept> kept{};
  std::vector<Kept> promised{};  // to preemptors
  std::vector<Kept> kept_in_round{};

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
        if (job.queue == node && !job.flavor.empty() && !gone.contains(name)) {
          for (const auto& [cell, amount] : asks_of(job, job.flavor)) {
            sum += cell == flavor ? amount : 0;
          }
        }
      }
      for (const auto* counted : {&kept, &promised, &kept_in_round}) {
        for (const Kept& one : *counted) {
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
                                    const std::vector<std::string>& scarce) const {
    const auto borrows_any = [&](const std::string& node) {
      return std::ranges::any_of(scarce,
                                 [&](const std::string& cell) { return borrows(node, cell); });
    };
    const auto [below, common] = branch(queue, other);
    return borrows_any(queue) && std::ranges::all_of(below, borrows_any);
  }

  [[nodiscard]] bool has_room(const std::string& queue, const std::string& flavor, Amount amount,
                              bool borrowing) const {
    return amount <= available(queue, flavor) &&
           (borrowing || use(queue, flavor) + amount <= quota(queue, flavor).nominal);
  }
  [[nodiscard]] bool has_room(const std::string& queue, const Asks& asks, bool borrowing) const {
    return std::ranges::all_of(
        asks, [&](const auto& ask) { return has_room(queue, ask.first, ask.second, borrowing); });
  }

 private:
  const World& world_;
  std::map<std::string, std::vector<std::string>> children_{};
};

}  // namespace athanor::kueue::model
