// SPDX-License-Identifier: Apache-2.0
// Orders workloads and says why each waits.
#include "views/queue_view.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "kube/text/quantity.hpp"
#include "kube/value/condition.hpp"

namespace athanor::views {
namespace {

void add_amounts(const Value& amounts, std::int64_t count, std::map<std::string, Quantity>& total) {
  for (const Member& amount : amounts.members()) {
    if (const auto quantity = Quantity::parse(amount.value)) {
      total[std::string(amount.key())] += quantity->times(count);
    }
  }
}

// What the queueing counts: of an admitted workload its usage, of a waiting one what was considered
// last. Before that, what its containers request.
std::map<std::string, Quantity> amounts_of(const Object& workload) {
  std::map<std::string, Quantity> total;
  for (const Value& assignment : workload.status()["admission"]["podSetAssignments"].items()) {
    add_amounts(assignment["resourceUsage"], 1, total);
  }
  if (!total.empty()) {
    return total;
  }
  for (const Value& request : workload.status()["resourceRequests"].items()) {
    add_amounts(request["resources"], 1, total);
  }
  if (!total.empty()) {
    return total;
  }
  for (const Value& pod_set : workload.spec()["podSets"].items()) {
    const std::int64_t count = pod_set["count"].as_int(1);
    for (const Value& container : pod_set.at({"template", "spec", "containers"}).items()) {
      add_amounts(container["resources"]["requests"], count, total);
    }
  }
  return total;
}

std::string requests_of(const Object& workload) {
  std::string text;
  for (const auto& [resource, quantity] : amounts_of(workload)) {
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

QueueGroups queue_groups(const std::vector<Object>& local_queues,
                         const std::vector<Object>& cluster_queues) {
  std::map<std::string, FlavorGroups> of_queue;
  for (const Object& queue : cluster_queues) {
    FlavorGroups& groups = of_queue[std::string(queue.name())];
    std::size_t number = 0;
    for (const Value& group : queue.spec()["resourceGroups"].items()) {
      for (const Value& flavor : group["flavors"].items()) {
        groups.emplace(flavor["name"].str(), number);
      }
      ++number;
    }
  }
  QueueGroups all;
  for (const Object& local : local_queues) {
    if (const auto found = of_queue.find(local.spec()["clusterQueue"].str());
        found != of_queue.end()) {
      all.emplace(local.key(), found->second);
    }
  }
  return all;
}

std::vector<QueueEntry> queue_entries(const std::vector<Object>& workloads,
                                      const QueueGroups& groups) {
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
    const auto known = groups.find({std::string(workload.ns()), entry.queue});
    entry.reason =
        clear_reason(entry.queue_says, known == groups.end() ? FlavorGroups() : known->second);
    entries.push_back(std::move(entry));
  }
  std::ranges::sort(entries, [](const QueueEntry& a, const QueueEntry& b) {
    const auto born = [](const QueueEntry& e) {
      return std::pair(e.workload.metadata()["creationTimestamp"].str(), e.workload.uid());
    };
    const auto order = [](const QueueEntry& e) {
      return std::tuple(std::string(e.workload.ns()), e.queue, e.admitted ? 0 : 1,
                        e.admitted ? 0 : -e.priority);
    };
    if (order(a) != order(b)) {
      return order(a) < order(b);
    }
    // What runs newest first; what waits in the order of its places.
    return a.admitted ? born(b) < born(a) : born(a) < born(b);
  });
  std::map<Key, std::size_t> waiting;
  for (QueueEntry& entry : entries) {
    if (!entry.admitted) {
      entry.position = ++waiting[{std::string(entry.workload.ns()), entry.queue}];
    }
  }
  return entries;
}

const std::vector<std::string>& queue_phases() {
  static const std::vector<std::string> kPhases{"running", "waiting"};
  return kPhases;
}

std::vector<std::string> queue_header() {
  return {"QUEUE", "PLACE", "WORKLOAD", "PRIORITY", "REQUESTS", "WHY"};
}

ListRow queue_row(const QueueEntry& entry, const QueueColumns& columns) {
  return {.object = entry.workload,
          .cells = {entry.queue, entry.admitted ? "running" : fmt::format("{}", entry.position),
                    columns.with_namespace ? entry.workload.key().text()
                                           : std::string(entry.workload.name()),
                    fmt::format("{}", entry.priority), entry.requests,
                    columns.wide ? entry.queue_says : entry.reason},
          .traits = {.phase = entry.admitted ? "running" : "waiting", .owner = {}}};
}

Listing queue_listing(const std::vector<QueueEntry>& entries, const QueueColumns& columns) {
  Listing listing{.titles = queue_header()};
  for (const QueueEntry& entry : entries) {
    listing.rows.push_back(queue_row(entry, columns));
  }
  return listing;
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

}  // namespace athanor::views
