// SPDX-License-Identifier: Apache-2.0
// One Workload beside the queue: what ends its reservation or lets it in (docs/spec/kueue.md 6.2,
// 8).
#include <fmt/core.h>

#include <algorithm>

#include "api/builtin.hpp"
#include "api/kueue.hpp"
#include "embedded/kueue/scheduler.hpp"
#include "embedded/kueue/settings.hpp"
#include "embedded/kueue/workload_status.hpp"
#include "kube/value/condition.hpp"

namespace athanor::kueue {
namespace {

struct Queues {
  std::string local_name{};
  std::string cluster_name{};
  std::optional<Object> local{};
  std::optional<Object> cluster{};
};

Queues queues_of(const View& view, const Object& workload) {
  Queues queues;
  queues.local_name = workload.spec()["queueName"].str();
  queues.local = view.get(api::kueue::kLocalQueue, {std::string(workload.ns()), queues.local_name});
  queues.cluster_name = workload.status().at({"admission", "clusterQueue"}).str();
  queues.cluster = view.get(api::kueue::kClusterQueue, {"", queues.cluster_name});
  return queues;
}

std::string_view stop_policy(const std::optional<Object>& queue) {
  return queue ? queue->spec()["stopPolicy"].as_string() : std::string_view{};
}

bool stopped(const std::optional<Object>& queue) {
  const std::string_view policy = stop_policy(queue);
  return !policy.empty() && policy != "None";
}

// Why a reservation that is not admitted yet is dropped; empty when it may stay.
std::string lost_reservation(const Queues& queues) {
  if (!queues.local || queues.local->deleting()) {
    return fmt::format("LocalQueue {} is terminating or missing", queues.local_name);
  }
  if (stopped(queues.local)) {
    return fmt::format("LocalQueue {} is stopped", queues.local_name);
  }
  if (!queues.cluster || queues.cluster->deleting()) {
    return fmt::format("ClusterQueue {} is terminating or missing", queues.cluster_name);
  }
  if (stopped(queues.cluster)) {
    return fmt::format("ClusterQueue {} is stopped", queues.cluster_name);
  }
  return {};
}

bool all_checks_ready(const Object& workload) {
  return std::ranges::all_of(workload.status()["admissionChecks"].items(), [](const Value& check) {
    return check["state"].as_string() == "Ready";
  });
}

// A workload follows the value of the WorkloadPriorityClass it names.
void follow_priority_class(const View& view, const Object& workload, Plan& plan) {
  const Value& ref = workload.spec()["priorityClassRef"];
  if (ref["kind"].as_string() != "WorkloadPriorityClass") {
    return;
  }
  const auto priority_class = view.get(api::kueue::kWorkloadPriorityClass, {"", ref["name"].str()});
  if (priority_class && priority_class->body()["value"] != workload.spec()["priority"]) {
    plan.then(Patch{.target = {&api::kueue::kWorkload, workload.key()},
                    .merge = Value::object(
                        {{"spec", Value::object({{"priority", priority_class->body()["value"]}})}}),
                    .guard = {.uid = std::string(workload.uid())}});
  }
}

void restart_if_possible(const Object& workload, Plan& plan, Instant now) {
  const Value& conditions = workload.status()["conditions"];
  const Value& evicted = find_condition(conditions, "Evicted");
  const Value& requeued = find_condition(conditions, "Requeued");
  if (evicted["status"].as_string() == "True" && evicted["reason"].as_string() == "Deactivated" &&
      requeued["status"].as_string() == "False") {
    add_requeued(plan, workload, "Reactivated", "The workload was reactivated", now);
  }
}

// A workload that waits after an eviction waits no longer (8.3).
void finish_backoff(const Object& workload, Plan& plan, Instant now) {
  const auto again = parse_time(workload.status().at({"requeueState", "requeueAt"}).as_string());
  if (!again) {
    return;
  }
  if (*again > now) {
    plan.wake_at(*again);
  } else {
    end_backoff(plan, workload, now);
  }
}

// Evicts an admitted workload whose pods are not ready in time (8.5). Nobody writes PodsReady on a
// raw workload but its owner.
void await_pods(const Object& workload, const Settings& settings, Plan& plan, Instant now) {
  const Value& conditions = workload.status()["conditions"];
  const Value& ready = find_condition(conditions, "PodsReady");
  if (!settings.wait_for_pods_ready || ready["status"].as_string() == "True") {
    return;
  }
  const bool recovers = ready["reason"].as_string() == "WaitForRecovery";
  const Value& began = recovers ? ready : find_condition(conditions, "Admitted");
  const auto since = parse_time(began["lastTransitionTime"].as_string());
  if (!since) {
    return;
  }
  const Instant end = *since + (recovers ? settings.recovery_timeout() : settings.timeout());
  if (end > now) {
    plan.wake_at(end);
    return;
  }
  const std::int64_t count = workload.status().at({"requeueState", "count"}).as_int() + 1;
  if (settings.requeue_backoff_limit_count > 0 && count > settings.requeue_backoff_limit_count) {
    add_deactivation(plan, workload, "RequeuingLimitExceeded",
                     "exceeding the maximum number of re-queuing retries", now);
    return;
  }
  add_timeout_eviction(plan, workload, count, now + settings.backoff(count), now);
}

// "The workload is deactivated", and why, if that was our doing.
std::string deactivated(const Object& workload) {
  const Value& target = find_condition(workload.status()["conditions"], "DeactivationTarget");
  return target["status"].as_string() == "True"
             ? fmt::format("The workload is deactivated due to {}", target["message"].as_string())
             : std::string("The workload is deactivated");
}

Plan reconcile(const View& view, const Key& key, Instant now) {
  const auto workload = view.get(api::kueue::kWorkload, key);
  if (!workload || workload->deleting() || is_finished(*workload)) {
    return Plan::done();
  }
  Plan plan;
  follow_priority_class(view, *workload, plan);
  if (!has_quota(*workload)) {
    if (is_active(*workload)) {
      restart_if_possible(*workload, plan, now);
      finish_backoff(*workload, plan, now);
    }
    return plan;
  }
  if (is_evicted(*workload)) {
    return plan;  // its owner releases the quota
  }
  if (!is_active(*workload)) {
    add_eviction(plan, *workload, "Deactivated", deactivated(*workload), now);
    return plan;
  }
  const Queues queues = queues_of(view, *workload);
  if (stop_policy(queues.cluster) == "HoldAndDrain") {
    add_eviction(plan, *workload, "ClusterQueueStopped", "The ClusterQueue is stopped", now);
    return plan;
  }
  if (stop_policy(queues.local) == "HoldAndDrain") {
    add_eviction(plan, *workload, "LocalQueueStopped", "The LocalQueue is stopped", now);
    return plan;
  }
  if (condition_is(workload->status()["conditions"], "Admitted", "True")) {
    await_pods(*workload, api::decode<Settings>(view.config("kueue")), plan, now);
    return plan;
  }
  if (const std::string lost = lost_reservation(queues); !lost.empty()) {
    add_release(plan, *workload, "Inadmissible", lost, now);
  } else if (all_checks_ready(*workload)) {
    add_checks_passed(plan, *workload, now);
  }
  return plan;
}

}  // namespace

const Operator& workload_operator() {
  static const Kind* const kReads[] = {&api::kueue::kWorkload, &api::kueue::kClusterQueue,
                                       &api::kueue::kLocalQueue,
                                       &api::kueue::kWorkloadPriorityClass};
  static const Kind* const kWrites[] = {&api::kueue::kWorkload, &api::kEvent};
  static const Access kAccess[] = {{&api::kueue::kWorkload, "patch"},
                                   {&api::kueue::kWorkload, "patch", "status"},
                                   {&api::kEvent, "create patch"}};
  static const Operator kOperator{.name = "kueue-workload",
                                  .primary = &api::kueue::kWorkload,
                                  .reads = kReads,
                                  .writes = kWrites,
                                  .reconcile = reconcile,
                                  .access = kAccess};
  return kOperator;
}

}  // namespace athanor::kueue
