// SPDX-License-Identifier: Apache-2.0
// Orders workloads and says why each waits.
#include "cli/jobs/queue_view.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "cli/reasons.hpp"
#include "kube/text/quantity.hpp"
#include "kube/value/condition.hpp"

namespace athanor::cli {
namespace {

std::string requests_of(const Object& workload) {
  std::map<std::string, Quantity> total;
  for (const Value& pod_set : workload.spec()["podSets"].items()) {
    const std::int64_t count = pod_set["count"].as_int(1);
    for (const Value& container : pod_set.at({"template", "spec", "containers"}).items()) {
      for (const Member& request : container["resources"]["requests"].members()) {
        if (const auto quantity = Quantity::parse(request.value)) {
          total[std::string(request.key())] += quantity->times(count);
        }
      }
    }
  }
  std::string text;
  for (const auto& [resource, quantity] : total) {
    text += fmt::format("{}{}={}", text.empty() ? "" : ",", resource, quantity.text());
  }
  return text;
}

std::string flavors_of(const Object& workload) {
  std::string text;
  for (const Value& assignment : workload.status()["admission"]["podSetAssignments"].items()) {
    for (const Member& flavor : assignment["flavors"].members()) {
      if (text.find(flavor.value.as_string()) == std::string::npos) {
        text += (text.empty() ? "" : ",") + flavor.value.str();
      }
    }
  }
  return "on " + text;
}

std::string waiting_reason(const Object& workload) {
  std::string reason = "not looked at yet";
  const Value& quota = find_condition(workload.status()["conditions"], "QuotaReserved");
  if (!quota["message"].as_string().empty()) {
    return quota["message"].str();
  }
  for (const Value& condition : workload.status()["conditions"].items()) {
    if (!condition["message"].as_string().empty()) {
      reason = condition["message"].str();
    }
  }
  return reason;
}

}  // namespace

std::vector<QueueEntry> queue_entries(const std::vector<Object>& workloads) {
  std::vector<QueueEntry> entries;
  for (const Object& workload : workloads) {
    const Value& conditions = workload.status()["conditions"];
    if (condition_is(conditions, "Finished", "True")) {
      continue;
    }
    QueueEntry entry{.workload = workload};
    entry.queue = workload.spec()["queueName"].str();
    entry.admitted = condition_is(conditions, "QuotaReserved", "True");
    entry.priority = workload.spec()["priority"].as_int();
    entry.requests = requests_of(workload);
    entry.queue_says = entry.admitted ? flavors_of(workload) : waiting_reason(workload);
    entry.reason = clear_reason(entry.queue_says);
    entries.push_back(std::move(entry));
  }
  std::ranges::sort(entries, [](const QueueEntry& a, const QueueEntry& b) {
    const auto born = [](const QueueEntry& e) {
      return std::pair(e.workload.metadata()["creationTimestamp"].str(), e.workload.uid());
    };
    const auto order = [](const QueueEntry& e) {
      return std::tuple(e.queue, e.admitted ? 0 : 1, e.admitted ? 0 : -e.priority);
    };
    if (order(a) != order(b)) {
      return order(a) < order(b);
    }
    // What runs newest first; what waits in the order of its places.
    return a.admitted ? born(b) < born(a) : born(a) < born(b);
  });
  std::map<std::string, std::size_t> waiting;
  for (QueueEntry& entry : entries) {
    if (!entry.admitted) {
      entry.position = ++waiting[entry.queue];
    }
  }
  return entries;
}

std::optional<std::size_t> queue_position(const std::vector<QueueEntry>& entries,
                                          const std::string& ns, const std::string& name) {
  for (const QueueEntry& entry : entries) {
    if (entry.workload.ns() == ns && entry.workload.name() == name && !entry.admitted) {
      return entry.position;
    }
  }
  return std::nullopt;
}

}  // namespace athanor::cli
