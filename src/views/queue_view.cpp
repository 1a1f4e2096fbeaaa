// SPDX-License-Identifier: Apache-2.0
// Orders workloads and says why each waits.
#include "views/queue_view.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "api/kueue_configuration.hpp"
#include "embedded/kueue/cycle/waiting.hpp"
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

Queues queues_of(const std::vector<Object>& local_queues, const std::vector<Object>& cluster_queues,
                 const Value& configuration) {
  Queues queues{.groups = queue_groups(local_queues, cluster_queues)};
  for (const Object& local : local_queues) {
    queues.cluster_queues.emplace(local.key(), local.spec()["clusterQueue"].str());
  }
  if (api::kueue::configured_by(Value(), configuration)["requeueTimestamp"].as_string() ==
      "Creation") {
    queues.timestamp = kueue::RequeueTimestamp::Creation;
  }
  return queues;
}

QueueState queue_state(const Object& workload) {
  if (kueue::has_quota(workload)) {
    return condition_is(workload.status()["conditions"], "Admitted", "True") ? QueueState::Running
                                                                             : QueueState::HasQuota;
  }
  return kueue::is_waiting(workload) ? QueueState::Waiting : QueueState::Inactive;
}

bool holds_quota(QueueState state) {
  return state == QueueState::Running || state == QueueState::HasQuota;
}

std::string queue_word(QueueState state) {
  return queue_phases().at(static_cast<std::size_t>(state));
}

QueueEntry queue_entry(const Object& workload, const Queues& queues) {
  QueueEntry entry{.workload = workload};
  entry.queue = workload.spec()["queueName"].str();
  entry.state = queue_state(workload);
  entry.priority = workload.spec()["priority"].as_int();
  entry.requests = requests_of(workload);
  if (kueue::is_finished(workload)) {
    entry.queue_says = find_condition(workload.status()["conditions"], "Finished")["message"].str();
    entry.reason = entry.queue_says;
    return entry;
  }
  entry.queue_says = kueue::has_quota(workload) ? flavors_of(workload) : waiting_reason(workload);
  const auto known = queues.groups.find({std::string(workload.ns()), entry.queue});
  entry.reason =
      clear_reason(entry.queue_says, known == queues.groups.end() ? FlavorGroups() : known->second);
  return entry;
}

namespace {

// Counts places in the order of the engine, over all LocalQueues of a ClusterQueue.
void set_places(std::vector<QueueEntry>& entries, const Queues& queues) {
  std::map<Key, std::size_t> of_local;
  std::map<std::string, std::size_t> of_cluster;
  for (QueueEntry& entry : entries) {
    if (entry.state != QueueState::Waiting) {
      continue;
    }
    const Key local{std::string(entry.workload.ns()), entry.queue};
    entry.position = ++of_local[local];
    if (const auto queue = queues.cluster_queues.find(local);
        queue != queues.cluster_queues.end()) {
      entry.cluster_position = ++of_cluster[queue->second];
    }
  }
}

}  // namespace

std::vector<QueueEntry> queue_entries(const std::vector<Object>& workloads, const Queues& queues) {
  std::vector<QueueEntry> entries;
  for (const Object& workload : workloads) {
    if (!kueue::is_finished(workload)) {
      entries.push_back(queue_entry(workload, queues));
    }
  }
  // Those with quota come first, whether admitted or not.
  const auto rank = [](const QueueEntry& e) {
    return holds_quota(e.state) ? QueueState::Running : e.state;
  };
  std::ranges::sort(entries, {}, [&](const QueueEntry& e) {
    const bool waits = e.state == QueueState::Waiting;
    return std::tuple(
        rank(e), waits && !kueue::awaits_preemption(e.workload),
        waits ? kueue::queue_order(e.workload, queues.timestamp) : kueue::QueueOrder());
  });
  set_places(entries, queues);
  std::ranges::stable_sort(entries, [&](const QueueEntry& a, const QueueEntry& b) {
    const auto born = [](const QueueEntry& e) {
      return std::pair(e.workload.metadata()["creationTimestamp"].str(), e.workload.uid());
    };
    const auto group = [&](const QueueEntry& e) {
      return std::tuple(std::string(e.workload.ns()), e.queue, rank(e));
    };
    if (group(a) != group(b)) {
      return group(a) < group(b);
    }
    return a.state != QueueState::Waiting && born(b) < born(a);
  });
  return entries;
}

const std::vector<std::string>& queue_phases() {
  static const std::vector<std::string> kPhases{"running", "has-quota", "waiting", "inactive"};
  return kPhases;
}

std::vector<std::string> queue_header() {
  return {"QUEUE", "PLACE", "WORKLOAD", "PRIORITY", "REQUESTS", "WHY"};
}

namespace {

std::string place_of(const QueueEntry& entry) {
  return entry.state == QueueState::Waiting ? fmt::format("{}", entry.position)
                                            : queue_word(entry.state);
}

}  // namespace

ListRow queue_row(const QueueEntry& entry, const QueueColumns& columns) {
  return {.object = entry.workload,
          .cells = {entry.queue, place_of(entry),
                    columns.with_namespace ? entry.workload.key().text()
                                           : std::string(entry.workload.name()),
                    fmt::format("{}", entry.priority), entry.requests,
                    columns.wide ? entry.queue_says : entry.reason},
          .traits = {.phase = queue_word(entry.state), .owner = {}}};
}

Listing queue_listing(const std::vector<QueueEntry>& entries, const QueueColumns& columns) {
  Listing listing{.titles = queue_header()};
  for (const QueueEntry& entry : entries) {
    listing.rows.push_back(queue_row(entry, columns));
  }
  return listing;
}

std::optional<QueuePlace> queue_position(const std::vector<QueueEntry>& entries,
                                         const std::string& ns, const std::string& name) {
  const auto asked = std::ranges::find_if(entries, [&](const QueueEntry& entry) {
    return entry.workload.ns() == ns && entry.workload.name() == name;
  });
  if (asked == entries.end() || asked->state != QueueState::Waiting) {
    return std::nullopt;
  }
  const auto waiting = std::ranges::count_if(entries, [&](const QueueEntry& entry) {
    return entry.state == QueueState::Waiting && entry.workload.ns() == ns &&
           entry.queue == asked->queue;
  });
  return QueuePlace{.place = asked->position, .of = static_cast<std::size_t>(waiting)};
}

}  // namespace athanor::views
