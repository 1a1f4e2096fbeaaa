// SPDX-License-Identifier: Apache-2.0
#include "embedded/kueue/explain/quota_report.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "kube/value/condition.hpp"

namespace athanor::kueue {
namespace {

constexpr std::size_t kMostHolders = 5;

// Returns "Kind/name" of the object that a Workload is for.
std::string owner_of(const Object& workload) {
  const auto owner = workload.controller();
  return owner ? fmt::format("{}/{}", owner->kind, owner->name) : std::string();
}

std::optional<Instant> admitted_at(const Object& workload) {
  const Value& admitted = find_condition(workload.status()["conditions"], "Admitted");
  return admitted["status"].as_string() == "True"
             ? parse_time(admitted["lastTransitionTime"].as_string())
             : std::nullopt;
}

class Reporter {
 public:
  Reporter(const Snapshot& queues, QuotaTree& quota, HeldWorkloads& held,
           const Preemptor& preemptor, const std::vector<Target>& targets)
      : queues_(queues), quota_(quota), held_(held), preemptor_(preemptor), targets_(targets) {}

  QuotaReport report(const std::string& flavor, const std::string& resource, QuotaTree::CellId cell,
                     Amount wanted) {
    const QuotaTree::NodeId node = preemptor_.queue->node;
    const Amount available = quota_.available(node, cell);
    const Amount own = std::max<Amount>(0, quota_.subtree(node, cell) - quota_.usage(node, cell));
    return {.flavor = flavor,
            .resource = resource,
            .nominal = amount_text(resource, quota_.nominal(node, cell)),
            .used = amount_text(resource, quota_.usage(node, cell)),
            .available = amount_text(resource, available),
            .borrowable = amount_text(resource, std::max<Amount>(0, available - own)),
            .capacity = amount_text(resource, quota_.max_capacity(node, cell)),
            .wanted = amount_text(resource, wanted),
            .holders = holders(resource, cell)};
  }

 private:
  [[nodiscard]] QuotaTree::NodeId root_of(QuotaTree::NodeId node) const {
    while (const auto parent = quota_.parent(node)) {
      node = *parent;
    }
    return node;
  }

  std::vector<QuotaReport::Holder> holders(const std::string& resource, QuotaTree::CellId cell) {
    std::vector<std::pair<Amount, const Held*>> found;
    for (const auto& [name, queue] : queues_.cluster_queues) {
      if (root_of(queue.node) != root_of(preemptor_.queue->node)) {
        continue;
      }
      for (HeldLine* line : held_.lines(queue, cell)) {
        for (std::size_t i = 0; const Held* one = line->at(i); ++i) {
          for (const auto& [held_cell, amount] : one->usage) {
            if (held_cell == cell && amount > 0) {
              found.emplace_back(amount, one);
            }
          }
        }
      }
    }
    std::ranges::sort(found, [](const auto& a, const auto& b) {
      return a.first != b.first ? a.first > b.first
                                : a.second->object.key() < b.second->object.key();
    });
    std::vector<QuotaReport::Holder> holders;
    for (std::size_t i = 0; i < std::min(found.size(), kMostHolders); ++i) {
      const auto& [amount, one] = found[i];
      holders.push_back({.workload = one->object.key(),
                         .cluster_queue = one->queue->name,
                         .priority = one->priority,
                         .holds = amount_text(resource, amount),
                         .owner = owner_of(one->object),
                         .since = admitted_at(one->object),
                         .kept_for = kept_for(*one, cell)});
    }
    return holders;
  }

  [[nodiscard]] std::string kept_for(const Held& held, QuotaTree::CellId cell) const {
    if (std::ranges::any_of(targets_, [&](const Target& target) {
          return target.held->object.uid() == held.object.uid();
        })) {
      return {};
    }
    if (held.evicted) {
      return "it is evicted already, and its owner has not released its quota yet";
    }
    const bool own = held.queue == preemptor_.queue;
    const char* field = own ? "withinClusterQueue" : "reclaimWithinCohort";
    const PreemptionPolicy policy =
        own ? preemptor_.queue->within_queue : preemptor_.queue->reclaim;
    if (policy == PreemptionPolicy::Never) {
      return fmt::format("preemption.{} of ClusterQueue {} is Never", field,
                         preemptor_.queue->name);
    }
    if (!own && within_nominal(quota_, held.queue->node, {cell})) {
      return fmt::format("ClusterQueue {} borrows nothing of it", held.queue->name);
    }
    if (!satisfies(policy, preemptor_, held)) {
      return policy == PreemptionPolicy::LowerOrNewerEqualPriority
                 ? fmt::format("its priority {} is neither lower, nor equal and newer",
                               held.priority)
                 : fmt::format("its priority {} is not below {}", held.priority,
                               preemptor_.priority);
    }
    return targets_.empty() ? "all that may be preempted would not make enough room"
                            : "others make enough room";
  }

  const Snapshot& queues_;
  QuotaTree& quota_;
  HeldWorkloads& held_;
  const Preemptor& preemptor_;
  const std::vector<Target>& targets_;
};

}  // namespace

std::vector<QuotaReport> quota_reports(const Snapshot& queues, QuotaTree& quota,
                                       HeldWorkloads& held, const Preemptor& preemptor,
                                       const Amounts& wanted, const std::vector<Target>& targets) {
  Reporter reporter(queues, quota, held, preemptor, targets);
  std::vector<QuotaReport> reports;
  for (const ResourceGroup& group : preemptor.queue->groups) {
    for (const FlavorQuotas& flavor : group.flavors) {
      for (std::size_t i = 0; i < flavor.resources.size(); ++i) {
        if (const auto amount = wanted.find(flavor.resources[i]);
            amount != wanted.end() && amount->second > 0) {
          reports.push_back(
              reporter.report(flavor.name, flavor.resources[i], flavor.cells[i], amount->second));
        }
      }
    }
  }
  return reports;
}

}  // namespace athanor::kueue
