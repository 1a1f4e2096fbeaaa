// SPDX-License-Identifier: Apache-2.0
// Counters from the changes of Workloads' conditions.
#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "api/kueue.hpp"
#include "embedded/kueue/metrics/names.hpp"
#include "embedded/kueue/metrics/samples.hpp"
#include "kube/value/condition.hpp"

namespace athanor::kueue {
namespace {

using namespace metric;

void put(Samples& samples, std::string_view metric, MetricLabels labels, double value = 1) {
  samples.push_back({.metric = metric, .labels = std::move(labels), .value = value});
}

const Value& condition_of(const Object& workload, std::string_view type) {
  return find_condition(workload.status()["conditions"], type);
}

bool became_true(const ObjectChanged& change, std::string_view type) {
  const Value& after = condition_of(*change.after, type);
  const Value& before = condition_of(*change.before, type);
  return after["status"].as_string() == "True" &&
         (before["status"].as_string() != "True" ||
          before["lastTransitionTime"] != after["lastTransitionTime"]);
}

std::optional<Instant> turned(const Object& workload, std::string_view type) {
  return parse_time(condition_of(workload, type)["lastTransitionTime"].as_string());
}

// Since when it waited for this reservation.
std::optional<Instant> queued(const Object& workload) {
  const bool again = condition_is(workload.status()["conditions"], "Requeued", "True");
  return again ? turned(workload, "Requeued") : workload.creation_time();
}

// The labels of a Workload's ClusterQueue, and of its LocalQueue: most is counted for both.
struct Queues {
  MetricLabels cluster{};
  MetricLabels local{};
};
Queues queues_of(const Object& workload, const Object& other) {
  std::string queue = workload.status().at({"admission", "clusterQueue"}).str();
  if (queue.empty()) {
    queue = other.status().at({"admission", "clusterQueue"}).str();
  }
  const std::string priority = workload.spec()["priorityClassRef"]["name"].str();
  return {.cluster = {{"cluster_queue", std::move(queue)}, {"priority_class", priority}},
          .local = {{"name", workload.spec()["queueName"].str()},
                    {"namespace", std::string(workload.ns())},
                    {"priority_class", priority}}};
}

// The names of a metric for both.
struct Twin {
  std::string_view cluster{};
  std::string_view local{};
};

void put_both(Samples& samples, const Twin& metric, const Queues& queues) {
  put(samples, metric.cluster, queues.cluster);
  put(samples, metric.local, queues.local);
}

void put_wait(Samples& samples, const Twin& metric, const Queues& queues,
              std::optional<Instant> from, std::optional<Instant> to) {
  if (from && to && *to >= *from) {
    put_seconds(metric.cluster, queues.cluster, *to - *from, samples);
    put_seconds(metric.local, queues.local, *to - *from, samples);
  }
}

// "…; preemptor path: /root/team; preemptee path: …": the last name of the first path.
std::string preemptor_queue(std::string_view message) {
  constexpr std::string_view kMark = "preemptor path: ";
  const std::size_t at = message.find(kMark);
  if (at == std::string_view::npos) {
    return {};
  }
  message.remove_prefix(at + kMark.size());
  const std::string_view path = message.substr(0, message.find(';'));
  return std::string(path.substr(path.rfind('/') + 1));
}

// Returns the entry of status.schedulingStats.evictions that the change raised; Null: none.
const Value& raised(const ObjectChanged& change) {
  static const Value kNone;
  const Value& before = change.before->status().at({"schedulingStats", "evictions"});
  for (const Value& entry : change.after->status().at({"schedulingStats", "evictions"}).items()) {
    const auto known = before.items();
    if (std::ranges::find(known, entry) == known.end()) {
      return entry;
    }
  }
  return kNone;
}

void count_eviction(const ObjectChanged& change, const Queues& queues, Samples& samples) {
  if (change.after->status()["admission"].is_null()) {
    return;  // deactivated while it waited
  }
  // The condition's reason of a deactivation has the cause as well.
  const Value& entry = raised(change);
  const Value& counted = entry.is_null() ? condition_of(*change.after, "Evicted") : entry;
  const std::string cause = entry["underlyingCause"].str();
  const auto with = [&](MetricLabels labels, const char* cause_label) {
    labels.emplace_back("reason", counted["reason"].str());
    labels.emplace_back(cause_label, cause);
    return labels;
  };
  put(samples, kEvicted, with(queues.cluster, "underlying_cause"));
  put(samples, kLocalEvicted, with(queues.local, "underlying_cause"));
  if (entry["count"].as_int() == 1) {
    put(samples, kEvictedOnce, with(queues.cluster, "detailed_reason"));
  }
}

// Pods that were ready were so since the condition before says.
void count_ready_time(const ObjectChanged& change, const Queues& queues, Samples& samples) {
  const Value& ready = condition_of(*change.before, "PodsReady");
  const auto since = parse_time(ready["lastTransitionTime"].as_string());
  const auto until = turned(*change.after, "Evicted");
  if (ready["status"].as_string() != "True" || !since || !until || *until < *since) {
    return;
  }
  const Value& entry = raised(change);
  const Value& counted = entry.is_null() ? condition_of(*change.after, "Evicted") : entry;
  put_seconds(kReadyUntilEvicted,
              {queues.cluster.front(),
               {"reason", counted["reason"].str()},
               {"underlying_cause", entry["underlyingCause"].str()}},
              *until - *since, samples);
}

}  // namespace

void count_change(const ObjectChanged& change, Samples& samples) {
  if (&change.kind != &api::kueue::kWorkload || change.before == nullptr ||
      change.after == nullptr) {
    return;
  }
  const Object& workload = *change.after;
  const Queues queues = queues_of(workload, *change.before);
  if (became_true(change, "QuotaReserved")) {
    put(samples, kAttempts, {{"result", "success"}});
    put_both(samples, {kReserved, kLocalReserved}, queues);
    put_wait(samples, {kReservedWait, kLocalReservedWait}, queues, queued(workload),
             turned(workload, "QuotaReserved"));
  } else if (const Value& refused = condition_of(workload, "QuotaReserved");
             refused["status"].as_string() == "False" &&
             refused != condition_of(*change.before, "QuotaReserved")) {
    put(samples, kAttempts, {{"result", "inadmissible"}});
  }
  if (became_true(change, "Admitted")) {
    put_both(samples, {kAdmitted, kLocalAdmitted}, queues);
    put_wait(samples, {kAdmissionWait, kLocalAdmissionWait}, queues, queued(workload),
             turned(workload, "Admitted"));
    if (!workload.status()["admissionChecks"].empty()) {
      put_wait(samples, {kChecksWait, kLocalChecksWait}, queues, turned(workload, "QuotaReserved"),
               turned(workload, "Admitted"));
    }
  }
  if (became_true(change, "PodsReady")) {
    put_wait(samples, {kReadyWait, kLocalReadyWait}, queues, queued(workload),
             turned(workload, "PodsReady"));
    put_wait(samples, {kAdmittedUntilReady, kLocalAdmittedUntilReady}, queues,
             turned(workload, "Admitted"), turned(workload, "PodsReady"));
  }
  if (became_true(change, "Evicted")) {
    count_eviction(change, queues, samples);
    count_ready_time(change, queues, samples);
  }
  if (became_true(change, "Preempted")) {
    const Value& preempted = condition_of(workload, "Preempted");
    put(samples, kPreempted,
        {{"preempting_cluster_queue", preemptor_queue(preempted["message"].as_string())},
         {"reason", preempted["reason"].str()}});
  }
  if (became_true(change, "Finished")) {
    put_both(samples, {kFinished, kLocalFinished}, queues);
  }
}

void count_cycle(const Reconciled& run, Samples& samples) {
  if (run.op == "kueue-admission") {
    put_seconds(kAttemptSeconds, {{"result", run.code == 0 ? "success" : "inadmissible"}}, run.took,
                samples);
  }
}

}  // namespace athanor::kueue
