// SPDX-License-Identifier: Apache-2.0
// Sums are named by a letter ('r' reserved, 'u' used, 'n' counts), the flavor and the resource.
#include "embedded/kueue/cycle/holding.hpp"

#include <fmt/core.h>

#include <string_view>
#include <vector>

#include "api/kueue.hpp"
#include "kube/value/condition.hpp"

namespace athanor::kueue {
namespace {

constexpr std::string_view kReservedIndex = "kueue-reserved-in";
constexpr std::string_view kReservedLocalIndex = "kueue-reserved-local";
constexpr std::string_view kNotReadyIndex = "kueue-not-ready";
constexpr std::string_view kAll = "all";
constexpr std::string_view kReserving = "n reserving";
constexpr std::string_view kAdmitted = "n admitted";

std::vector<std::string> cluster_queue_held(const Object& workload) {
  return holds_quota(workload)
             ? std::vector{workload.status().at({"admission", "clusterQueue"}).str()}
             : std::vector<std::string>{};
}
std::vector<std::string> local_queue_held(const Object& workload) {
  return holds_quota(workload)
             ? std::vector{Key{std::string(workload.ns()), workload.spec()["queueName"].str()}
                               .text()}
             : std::vector<std::string>{};
}

std::vector<std::string> held_unready(const Object& workload) {
  return holds_quota(workload) &&
                 !condition_is(workload.status()["conditions"], "PodsReady", "True")
             ? std::vector{std::string(kAll)}
             : std::vector<std::string>{};
}

void add_held(const Object& workload, Totals& totals) {
  const bool admitted = condition_is(workload.status()["conditions"], "Admitted", "True");
  ++totals[std::string(kReserving)];
  if (admitted) {
    ++totals[std::string(kAdmitted)];
  }
  for (const auto& [cell, amount] : held_quota(workload)) {
    const std::string name = sum_name(cell.flavor, cell.resource);
    totals["r" + name] += amount;
    if (admitted) {
      totals["u" + name] += amount;
    }
  }
}

// Reservations alone: all that admission asks for.
void add_reserved(const Object& workload, Totals& totals) {
  for (const auto& [cell, amount] : held_quota(workload)) {
    totals[sum_name(cell.flavor, cell.resource)] += amount;
  }
}

}  // namespace

bool holds_quota(const Object& workload) {
  return has_quota(workload) && is_active(workload) && !is_finished(workload);
}

const Index& reserved_index() {
  static const Index kIndex{
      .kind = &api::kueue::kWorkload, .name = kReservedIndex, .values = cluster_queue_held};
  return kIndex;
}

const Index& reserved_local_index() {
  static const Index kIndex{
      .kind = &api::kueue::kWorkload, .name = kReservedLocalIndex, .values = local_queue_held};
  return kIndex;
}

const Index& not_ready_index() {
  static const Index kIndex{
      .kind = &api::kueue::kWorkload, .name = kNotReadyIndex, .values = held_unready};
  return kIndex;
}

Select not_ready() {
  return {.index = std::string(kNotReadyIndex), .index_value = std::string(kAll)};
}

Select reserved_in(const std::string& cluster_queue) {
  return {.index = std::string(kReservedIndex), .index_value = cluster_queue};
}

Select reserved_local(const Key& local_queue) {
  return {.index = std::string(kReservedLocalIndex), .index_value = local_queue.text()};
}

Tally tally_of(const View& view, const Select& select) {
  Tally tally;
  for (const auto& [name, amount] : view.totals(api::kueue::kWorkload, select, add_held)) {
    if (name == kReserving) {
      tally.reserving = amount;
    } else if (name == kAdmitted) {
      tally.admitted = amount;
    } else {
      const std::size_t separator = name.find(kSumSeparator);
      const FlavorResource cell{.flavor = name.substr(1, separator - 1),
                                .resource = name.substr(separator + 1)};
      (name.front() == 'r' ? tally.reservation : tally.usage).emplace(cell, amount);
    }
  }
  return tally;
}

void count_usage(const Snapshot& snapshot, QuotaTree& quota, const View& view) {
  for (const auto& [queue_name, queue] : snapshot.cluster_queues) {
    // Both go in the order of names: the cell of the next sum is mostly the next.
    auto next = snapshot.sums.begin();
    for (const auto& [name, amount] :
         view.totals(api::kueue::kWorkload, reserved_in(queue_name), add_reserved)) {
      int order = -1;
      while (next != snapshot.sums.end() && (order = next->first.compare(name)) < 0) {
        ++next;
      }
      if (order == 0) {
        quota.add_usage(queue.node, next->second, amount);
        continue;
      }
      const std::size_t separator = name.find(kSumSeparator);
      quota.add_usage(queue.node,
                      FlavorResource{name.substr(0, separator), name.substr(separator + 1)},
                      amount);
    }
  }
}

}  // namespace athanor::kueue
