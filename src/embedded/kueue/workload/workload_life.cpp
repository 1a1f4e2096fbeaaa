// SPDX-License-Identifier: Apache-2.0
// One Workload beside the queue: what ends its reservation or lets it in (docs/spec/kueue.md 6.2,
// 8).
#include <fmt/core.h>

#include <algorithm>
#include <set>
#include <utility>

#include "api/builtin.hpp"
#include "api/kueue.hpp"
#include "embedded/kueue/cycle/scheduler.hpp"
#include "embedded/kueue/cycle/snapshot.hpp"
#include "embedded/kueue/cycle/workload_status.hpp"
#include "embedded/kueue/model/configuration.hpp"
#include "embedded/kueue/model/settings.hpp"
#include "embedded/kueue/rules/left_out.hpp"
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

// Evicts an admitted workload whose queue is drained (8.1). False: neither queue is.
bool apply_drain(const Queues& queues, const Object& workload, Plan& plan, Instant now) {
  if (stop_policy(queues.local) == "HoldAndDrain") {
    add_eviction(plan, workload,
                 {.reason = "LocalQueueStopped", .message = "The LocalQueue is stopped"}, now);
    return true;
  }
  if (stop_policy(queues.cluster) == "HoldAndDrain") {
    add_eviction(plan, workload,
                 {.reason = "ClusterQueueStopped", .message = "The ClusterQueue is stopped"}, now);
    return true;
  }
  return false;
}

// Why a reservation that is not admitted yet is dropped; no text when it may stay.
std::pair<Waits, std::string> lost_reservation(const Queues& queues) {
  if (!queues.local || queues.local->deleting()) {
    return {Waits::NoQueue,
            fmt::format("LocalQueue {} is terminating or missing", queues.local_name)};
  }
  if (stopped(queues.local)) {
    return {Waits::QueueStopped, fmt::format("LocalQueue {} is stopped", queues.local_name)};
  }
  if (!queues.cluster || queues.cluster->deleting()) {
    return {Waits::NoQueue,
            fmt::format("ClusterQueue {} is terminating or missing", queues.cluster_name)};
  }
  if (stopped(queues.cluster)) {
    return {Waits::QueueStopped, fmt::format("ClusterQueue {} is stopped", queues.cluster_name)};
  }
  return {};
}

bool all_checks_ready(const Object& workload) {
  return std::ranges::all_of(workload.status()["admissionChecks"].items(), [](const Value& check) {
    return check["state"].as_string() == "Ready";
  });
}

std::set<std::string> names_of(const Value& checks) {
  std::set<std::string> names;
  for (const Value& check : checks.items()) {
    names.insert(check["name"].str());
  }
  return names;
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

// Returns true if a deactivation was the last that happened to a workload that is active again.
bool was_deactivated(const Value& conditions) {
  const Value& requeued = find_condition(conditions, "Requeued");
  const std::string_view reason = requeued["reason"].as_string();
  if (requeued["status"].as_string() == "False") {
    return reason.starts_with(kDeactivated);
  }
  const Value& evicted = find_condition(conditions, "Evicted");
  return evicted["status"].as_string() == "True" &&
         evicted["reason"].as_string().starts_with(kDeactivated) && reason != "Reactivated";
}

// Lets a workload back in whose eviction is over: it was activated again, or its queue was started
// again (8.3).
void restart_if_possible(const View& view, const Object& workload, Plan& plan, Instant now) {
  const Value& conditions = workload.status()["conditions"];
  if (was_deactivated(conditions)) {
    add_reactivated(plan, workload, now);
    return;
  }
  const Value& requeued = find_condition(conditions, "Requeued");
  const std::string_view reason = requeued["reason"].as_string();
  if (requeued["status"].as_string() != "False") {
    return;
  }
  if (reason != "ClusterQueueStopped" && reason != "LocalQueueStopped") {
    return;
  }
  const auto local = view.get(api::kueue::kLocalQueue,
                              {std::string(workload.ns()), workload.spec()["queueName"].str()});
  if (reason == "LocalQueueStopped") {
    if (local && !stopped(local)) {
      add_requeued(plan, workload, "LocalQueueRestarted",
                   "The LocalQueue was restarted after being stopped", now);
    }
    return;
  }
  const auto cluster =
      local ? view.get(api::kueue::kClusterQueue, {"", local->spec()["clusterQueue"].str()})
            : std::nullopt;
  if (cluster && !stopped(cluster)) {
    add_requeued(plan, workload, "ClusterQueueRestarted",
                 "The ClusterQueue was restarted after being stopped", now);
  }
}

// A workload that waits after an eviction waits no longer (8.3).
void finish_backoff(const Object& workload, Plan& plan, Instant now) {
  const Value& requeued = find_condition(workload.status()["conditions"], "Requeued");
  const std::string_view reason = requeued["reason"].as_string();
  const bool held = requeued["status"].as_string() == "False" &&
                    (reason == "PodsReadyTimeout" || reason == "AdmissionCheck");
  const auto again = parse_time(workload.status().at({"requeueState", "requeueAt"}).as_string());
  if (again && *again > now) {
    plan.wake_at(*again);
  } else if (again || held) {
    end_backoff(plan, workload, now);
  }
}

// Evicts an admitted workload whose pods are not ready in time (8.5). Only the
// owner of a raw workload writes PodsReady on it.
void await_pods(const Object& workload, const Settings& settings, Plan& plan, Instant now) {
  const Value& conditions = workload.status()["conditions"];
  const Value& ready = find_condition(conditions, "PodsReady");
  if (!settings.wait_for_pods_ready || ready["status"].as_string() == "True") {
    return;
  }
  const bool recovers = ready["reason"].as_string() == "WaitForRecovery";
  const Duration limit = recovers ? settings.recovery_timeout() : settings.timeout();
  const Value& began = recovers ? ready : find_condition(conditions, "Admitted");
  const auto since = parse_time(began["lastTransitionTime"].as_string());
  if (!since || (recovers && limit == Duration::zero())) {
    return;
  }
  const Instant end = *since + limit;
  if (end > now) {
    plan.wake_at(end);
    return;
  }
  const std::int64_t count = workload.status().at({"requeueState", "count"}).as_int() + 1;
  if (settings.requeue_backoff_limit_count >= 0 && count > settings.requeue_backoff_limit_count) {
    add_deactivation(plan, workload, "RequeuingLimitExceeded",
                     "exceeding the maximum number of re-queuing retries", now);
    return;
  }
  add_eviction(plan, workload,
               {.reason = "PodsReadyTimeout",
                .message = fmt::format("Exceeded the PodsReady timeout {}", workload.key().text()),
                .cause = recovers ? "WaitForRecovery" : "WaitForStart",
                .requeue_state = Value::object(
                    {{"count", count}, {"requeueAt", format_time(now + settings.backoff(count))}})},
               now);
}

// "The workload is deactivated", and why, if that was our doing.
Eviction deactivated(const Object& workload) {
  const Value& target = find_condition(workload.status()["conditions"], "DeactivationTarget");
  Eviction eviction{
      .reason = kDeactivated, .message = "The workload is deactivated", .clears_requeue = true};
  if (target["status"].as_string() == "True") {
    eviction.message += fmt::format(" due to {}", target["message"].as_string());
    eviction.cause = target["reason"].str();
  }
  return eviction;
}

// Deactivates a workload that a check rejected (8.6). False: none did.
bool apply_rejection(const Object& workload, Plan& plan, Instant now) {
  std::string names;
  for (const Value& check : workload.status()["admissionChecks"].items()) {
    if (check["state"].as_string() != "Rejected") {
      continue;
    }
    if (names.empty()) {  // the event is of the first
      add_event(plan, workload, "Warning", "AdmissionCheckRejected",
                fmt::format("Deactivating workload because AdmissionCheck for {} was Rejected: {}",
                            check["name"].as_string(), check["message"].as_string()));
    }
    names += (names.empty() ? "" : ",") + check["name"].str();
  }
  if (names.empty()) {
    return false;
  }
  add_deactivation(plan, workload, "AdmissionCheck",
                   fmt::format("Admission check(s): {}, were rejected", names), now);
  return true;
}

// Evicts a workload of which a check wants another round (8.6). False: none does.
bool apply_retry(const Object& workload, bool granular, Plan& plan, Instant now) {
  std::string checks;
  std::int64_t pause = 0;
  for (const Value& check : workload.status()["admissionChecks"].items()) {
    if (check["state"].as_string() == "Retry") {
      checks += fmt::format("{}\"{}\" ({})", checks.empty() ? "" : "; ", check["name"].as_string(),
                            check["message"].as_string());
      pause = std::max(pause, check["requeueAfterSeconds"].as_int());
    }
  }
  if (checks.empty()) {
    return false;
  }
  Eviction eviction{.reason = "AdmissionCheck",
                    .message = granular
                                   ? "Evicted due to AdmissionCheck(s) in Retry state: " + checks
                                   : std::string("At least one admission check is false")};
  if (pause > 0) {
    eviction.requeue_state = workload.status()["requeueState"];
    eviction.requeue_state.set("requeueAt", format_time(now + std::chrono::seconds(pause)));
  }
  add_eviction(plan, workload, eviction, now);
  return true;
}

// Deactivates a workload that was admitted for too long (8.4). False: it was not.
bool apply_execution_time(const Object& workload, Plan& plan, Instant now) {
  const std::int64_t most = workload.spec()["maximumExecutionTimeSeconds"].as_int();
  if (most <= 0) {
    return false;
  }
  const std::int64_t left = most - executed_seconds(workload, now);
  if (left > 0) {
    plan.wake_at(now + std::chrono::seconds(left));
    return false;
  }
  add_event(plan, workload, "Warning", "MaximumExecutionTimeExceeded",
            fmt::format("The maximum execution time ({}s) exceeded", most));
  add_deactivation(plan, workload, "MaximumExecutionTimeExceeded",
                   "exceeding the maximum execution time", now);
  return true;
}

// Deletes what was kept long enough (9). A deactivated workload of a job belongs to the job.
void retire(const View& view, const Object& workload, Plan& plan, Instant now) {
  const Value config = configured_section(view);
  if (config["retentionAfterFinished"].as_string().empty() &&
      config["retentionAfterDeactivated"].as_string().empty()) {
    return;
  }
  const auto settings = api::decode<Settings>(config);
  const Value& conditions = workload.status()["conditions"];
  const bool finished = is_finished(workload);
  const bool by_us = !is_active(workload) && !workload.controller() &&
                     condition_is(conditions, "DeactivationTarget", "True");
  if (!finished && !by_us) {
    return;
  }
  const auto keep = finished ? settings.keep_finished() : settings.keep_deactivated();
  const Value& since = find_condition(conditions, finished ? "Finished" : "Evicted");
  const auto began = parse_time(since["lastTransitionTime"].as_string());
  if (!keep || !began || since["status"].as_string() != "True") {
    return;
  }
  const Instant due = *began + *keep;
  if (due > now) {
    plan.wake_at(due);
    return;
  }
  add_event(plan, workload, "Normal", "Deleted",
            fmt::format("Deleted {} workload due to elapsed retention",
                        finished ? "finished" : "deactivated"));
  plan.then(Delete{.target = {&api::kueue::kWorkload, workload.key()},
                   .guard = {.uid = std::string(workload.uid())}});
}

// Limit of the delay of an Event that is emitted once: no state records that it was emitted.
constexpr Duration kTellWithin = std::chrono::seconds(5);

void emit_once(const Object& workload, Instant due, std::string_view reason,
               const std::string& note, Plan& plan, Instant now) {
  if (now < due) {
    plan.wake_at(due);
  } else if (now < due + kTellWithin) {
    add_event(plan, workload, "Warning", reason, note);
  }
}

// An evicted workload that no integration stops keeps its quota for as long as its owner lets it
// (8.2).
void warn_of_held_quota(const Object& workload, Plan& plan, Instant now) {
  if (workload.has_finalizer(api::kueue::kInUseFinalizer)) {
    return;  // an integration made it, and releases it
  }
  const Value& evicted = find_condition(workload.status()["conditions"], "Evicted");
  if (const auto since = parse_time(evicted["lastTransitionTime"].as_string())) {
    emit_once(workload, *since + std::chrono::seconds(60), "EvictedWorkloadHoldsQuota",
              fmt::format("Evicted ({}), and still holds its quota in ClusterQueue {}: stop what "
                          "runs, then delete the Workload or clear status.admission",
                          evicted["reason"].as_string(),
                          workload.status().at({"admission", "clusterQueue"}).as_string()),
              plan, now);
  }
}

// Section 15: stored, without effect.
void warn_of_topology(const Object& workload, Plan& plan, Instant now) {
  const auto created = parse_time(workload.metadata()["creationTimestamp"].as_string());
  const bool asks = std::ranges::any_of(workload.spec()["podSets"].items(), asks_for_topology);
  if (asks && created) {
    emit_once(workload, *created, "TopologyIgnored",
              "The embedded engine does not schedule by topology: topologyRequest has no effect",
              plan, now);
  }
}

// Of one that waits.
void follow_waiting(const View& view, const Object& workload, Plan& plan, Instant now) {
  if (!is_active(workload)) {
    if (!is_evicted(workload)) {
      add_eviction(plan, workload, deactivated(workload), now);
    } else if (!workload.status()["requeueState"].is_null()) {
      forget_backoff(plan, workload, now);
    }
    retire(view, workload, plan, now);
    return;
  }
  if (apply_rejection(workload, plan, now)) {
    return;
  }
  restart_if_possible(view, workload, plan, now);
  finish_backoff(workload, plan, now);
}

// Of one that holds quota and is neither evicted nor inactive.
void follow_reserved(const View& view, const Object& workload, Plan& plan, Instant now) {
  const auto settings = api::decode<Settings>(configured_section(view));
  if (apply_rejection(workload, plan, now) ||
      apply_retry(workload, settings.granular(), plan, now)) {
    return;
  }
  if (!workload.status()["resourceRequests"].empty()) {
    forget_requests(plan, workload, now);
    return;
  }
  const Queues queues = queues_of(view, workload);
  const bool admitted = condition_is(workload.status()["conditions"], "Admitted", "True");
  if (admitted && apply_drain(queues, workload, plan, now)) {
    return;
  }
  if (queues.cluster) {
    if (const Value checks = checks_of(*queues.cluster, workload, now);
        names_of(checks) != names_of(workload.status()["admissionChecks"])) {
      add_checks(plan, workload, checks, settings.granular(), now);
      return;
    }
  }
  if (admitted) {
    if (!apply_execution_time(workload, plan, now)) {
      await_pods(workload, settings, plan, now);
    }
    return;
  }
  // A reservation without pending checks is admitted, whichever client made it.
  if (all_checks_ready(workload)) {
    add_checks_passed(plan, workload, now);
  } else if (const auto [why, lost] = lost_reservation(queues); !lost.empty()) {
    add_release(plan, workload, {.why = why, .granular = settings.granular()}, lost, now);
  }
}

Plan reconcile_workload(const View& view, const Key& key, Instant now) {
  const auto workload = view.get(api::kueue::kWorkload, key);
  if (!workload || workload->deleting()) {
    return Plan::done();
  }
  Plan plan;
  if (is_finished(*workload)) {
    retire(view, *workload, plan, now);
    return plan;
  }
  follow_priority_class(view, *workload, plan);
  warn_of_topology(*workload, plan, now);
  if (!has_quota(*workload)) {
    follow_waiting(view, *workload, plan, now);
  } else if (is_evicted(*workload)) {
    // Its owner releases the quota; one that is inactive holds none.
    if (is_active(*workload)) {
      warn_of_held_quota(*workload, plan, now);
    } else {
      retire(view, *workload, plan, now);
    }
  } else if (!is_active(*workload)) {
    add_eviction(plan, *workload, deactivated(*workload), now);
  } else {
    follow_reserved(view, *workload, plan, now);
  }
  return plan;
}

bool overlooks(const Kind& kind, const Object& before, const Object& after) {
  return (&kind == &api::kueue::kClusterQueue || &kind == &api::kueue::kLocalQueue) &&
         makes_same_snapshot(kind, before, after);
}

}  // namespace

const Operator& workload_operator() {
  static const Kind* const kReads[] = {&api::kueue::kWorkload, &api::kueue::kClusterQueue,
                                       &api::kueue::kLocalQueue,
                                       &api::kueue::kWorkloadPriorityClass, &api::kConfigMap};
  static const Kind* const kWrites[] = {&api::kueue::kWorkload, &api::kEvent};
  static const Access kAccess[] = {{&api::kueue::kWorkload, "patch delete"},
                                   {&api::kueue::kWorkload, "patch", "status"},
                                   {&api::kEvent, "create patch"}};
  static const Operator kOperator{.name = "kueue-workload",
                                  .primary = &api::kueue::kWorkload,
                                  .reads = kReads,
                                  .writes = kWrites,
                                  .reconcile = reconcile_workload,
                                  .overlooks = overlooks,
                                  .access = kAccess};
  return kOperator;
}

}  // namespace athanor::kueue
