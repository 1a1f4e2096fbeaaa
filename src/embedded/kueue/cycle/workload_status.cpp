// SPDX-License-Identifier: Apache-2.0
// Status steps of Workloads. Statuses are written whole per key and guarded by the version they
// were made from.
#include "embedded/kueue/cycle/workload_status.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "api/kueue.hpp"
#include "api/kueue_integration.hpp"
#include "kube/value/condition.hpp"

namespace athanor::kueue {
namespace {

constexpr std::size_t kEventLimit = 1024;
// Kueue's field manager of admission. Controllers built on its library release a workload by
// applying the status as the same manager, without admission.
constexpr std::string_view kAdmissionManager = "kueue-admission";
constexpr const char* kUnsatisfied = "The workload has not all checks ready";
constexpr const char* kNoReservation = "The workload has no reservation";

Ref ref_of(const Object& workload) {
  return {&api::kueue::kWorkload, workload.key()};
}

Guard guard_of(const Object& workload) {
  return {.uid = std::string(workload.uid()),
          .resource_version = std::string(workload.resource_version())};
}

class StatusEdit {
 public:
  StatusEdit(const Object& workload, Instant now)
      : workload_(workload), now_(now), conditions_(workload.status()["conditions"]) {}

  void condition(std::string_view type, std::string_view status, std::string_view reason,
                 const std::string& message) {
    api::kueue::set_workload_condition(conditions_,
                                       {.type = std::string(type),
                                        .status = std::string(status),
                                        .reason = std::string(reason),
                                        .message = cut(message, kConditionMessageLimit),
                                        .observed_generation = workload_.generation()},
                                       now_);
  }
  [[nodiscard]] const Value& conditions() const { return conditions_; }
  void set(std::string_view key, Value value) { status_.set(key, std::move(value)); }

  void write(Plan& plan, std::string_view applied_as = {}) {
    if (conditions_.is_list()) {
      status_.set("conditions", conditions_);
    }
    plan.then(Status{.target = ref_of(workload_),
                     .status = std::move(status_),
                     .guard = guard_of(workload_),
                     .applied_as = std::string(applied_as)});
  }

 private:
  const Object& workload_;
  Instant now_;
  Value conditions_;
  Value status_ = Value::object();
};

std::int64_t seconds_since(std::string_view time, Instant now) {
  const auto then = parse_time(time);
  return then ? std::max<std::int64_t>(
                    0, std::chrono::duration_cast<std::chrono::seconds>(now - *then).count())
              : 0;
}

// Returns the time since which a workload is queued: its creation or its last requeue.
std::string_view queued_since(const Object& workload) {
  const Value& requeued = find_condition(workload.status()["conditions"], "Requeued");
  return requeued.is_null() ? workload.metadata()["creationTimestamp"].as_string()
                            : requeued["lastTransitionTime"].as_string();
}

Value admission_of(const ClusterQueue& queue, const Assignment& assignment) {
  Value assignments = Value::list();
  for (const PodSetAssignment& pod_set : assignment.pod_sets) {
    Value flavors = Value::object();
    Value usage = Value::object();
    for (const auto& [resource, amount] : pod_set.usage) {
      if (const auto flavor = pod_set.flavors.find(resource); flavor != pod_set.flavors.end()) {
        flavors.set(resource, flavor->second);
      }
      usage.set(resource, amount_text(resource, amount));
    }
    // Empty maps are left out: clients that drop them would seem to change what is immutable.
    Value given = Value::object({{"name", pod_set.name}});
    if (!flavors.empty()) {
      given.set("flavors", flavors);
    }
    if (!usage.empty()) {
      given.set("resourceUsage", usage);
    }
    given.set("count", pod_set.count);
    assignments.push_back(std::move(given));
  }
  return Value::object({{"clusterQueue", queue.name}, {"podSetAssignments", assignments}});
}

// The checks of the queue that apply to the assigned flavors, pending where nothing else is known
// (docs/spec/kueue.md 8.6).
Value checks_on(const Object& cluster_queue, const std::set<std::string>& assigned,
                const Value& known, Instant now) {
  Value checks = Value::list();
  for (const Value& rule :
       cluster_queue.spec().at({"admissionChecksStrategy", "admissionChecks"}).items()) {
    const Value& flavors = rule["onFlavors"];
    const bool applies =
        flavors.empty() || std::ranges::any_of(flavors.items(), [&](const Value& flavor) {
          return assigned.contains(flavor.str());
        });
    if (!applies) {
      continue;
    }
    const auto current = std::ranges::find_if(
        known.items(), [&](const Value& check) { return check["name"] == rule["name"]; });
    checks.push_back(current != known.items().end()
                         ? *current
                         : Value::object({{"name", rule["name"]},
                                          {"state", "Pending"},
                                          {"message", ""},
                                          {"lastTransitionTime", format_time(now)}}));
  }
  return checks;
}

Value pending_checks(const ClusterQueue& queue, const Assignment& assignment, Instant now) {
  std::set<std::string> assigned;
  for (const PodSetAssignment& pod_set : assignment.pod_sets) {
    for (const auto& [resource, flavor] : pod_set.flavors) {
      assigned.insert(flavor);
    }
  }
  return checks_on(queue.object, assigned, Value(), now);
}

// Earlier evictions are history once quota is reserved again.
void retire_status(StatusEdit& edit, const Object& workload) {
  for (const char* type : {"Evicted", "Preempted", "DeactivationTarget"}) {
    const Value& old = find_condition(workload.status()["conditions"], type);
    if (old["status"].as_string() == "True") {
      edit.condition(type, "False", "QuotaReserved",
                     fmt::format("Previously: {}", old["message"].as_string()));
    }
  }
}

}  // namespace

std::string cut(std::string text, std::size_t limit) {
  constexpr std::string_view kEnd = " ...";
  if (text.size() > limit) {
    text.resize(limit - kEnd.size());
    text += kEnd;
  }
  return text;
}

Plan admission(const Object& workload, const Reservation& reservation, Instant now) {
  const ClusterQueue& queue = reservation.queue;
  const Assignment& assignment = reservation.assignment;
  Plan plan;
  StatusEdit edit(workload, now);
  const std::string reserved = fmt::format("Quota reserved in ClusterQueue {}", queue.name);
  edit.condition("QuotaReserved", "True", "QuotaReserved", reserved);
  const Value checks = pending_checks(queue, assignment, now);
  if (checks.empty()) {
    edit.condition("Admitted", "True", "Admitted", "The workload is admitted");
  } else {
    edit.condition("Admitted", "False", unsatisfied_checks(reservation.granular), kUnsatisfied);
    edit.set("admissionChecks", checks);
  }
  retire_status(edit, workload);
  edit.set("admission", admission_of(queue, assignment));
  // Applied without resourceRequests: those of earlier attempts are removed.
  edit.write(plan, kAdmissionManager);
  add_event(plan, workload, "Normal", "QuotaReserved",
            fmt::format("{}, wait time since queued was {}s{}{}", reserved,
                        seconds_since(queued_since(workload), now),
                        reservation.considered.empty() ? "" : "; Flavors considered: ",
                        reservation.considered));
  if (checks.empty()) {
    add_event(
        plan, workload, "Normal", "Admitted",
        fmt::format("Admitted by ClusterQueue {}, wait time since reservation was 0s", queue.name));
  }
  return plan;
}

void add_checks_passed(Plan& plan, const Object& workload, Instant now) {
  StatusEdit edit(workload, now);
  edit.condition("Admitted", "True", "Admitted", "The workload is admitted");
  edit.write(plan);
  const Value& reserved = find_condition(workload.status()["conditions"], "QuotaReserved");
  add_event(plan, workload, "Normal", "Admitted",
            fmt::format("Admitted by ClusterQueue {}, wait time since reservation was {}s",
                        workload.status()["admission"]["clusterQueue"].as_string(),
                        seconds_since(reserved["lastTransitionTime"].as_string(), now)));
}

Value checks_of(const Object& cluster_queue, const Object& workload, Instant now) {
  std::set<std::string> assigned;
  for (const Value& pod_set : workload.status()["admission"]["podSetAssignments"].items()) {
    for (const Member& flavor : pod_set["flavors"].members()) {
      assigned.insert(flavor.value.str());
    }
  }
  return checks_on(cluster_queue, assigned, workload.status()["admissionChecks"], now);
}

void add_checks(Plan& plan, const Object& workload, const Value& checks, bool granular,
                Instant now) {
  StatusEdit edit(workload, now);
  edit.set("admissionChecks", checks.empty() ? Value() : checks);
  const bool ready = std::ranges::all_of(
      checks.items(), [](const Value& check) { return check["state"].as_string() == "Ready"; });
  if (!ready && condition_is(edit.conditions(), "Admitted", "True")) {
    edit.condition("Admitted", "False", unsatisfied_checks(granular), kUnsatisfied);
  }
  edit.write(plan);
}

void add_pending(Plan& plan, const Object& workload, const PendingReason& pending,
                 const std::string& message, const std::vector<PodSetRequests>& requests,
                 Instant now) {
  const Value& current = find_condition(workload.status()["conditions"], "QuotaReserved");
  const std::string kept = cut(message, kConditionMessageLimit);
  const std::string_view reason = reason_of(pending.why, pending.granular);
  if (current["status"].as_string() == "False" && current["reason"].as_string() == reason &&
      current["message"].as_string() == kept) {
    return;
  }
  StatusEdit edit(workload, now);
  edit.condition("QuotaReserved", "False", reason, kept);
  if (pending.granular && find_condition(edit.conditions(), "Admitted").is_null()) {
    edit.condition("Admitted", "False", "NoReservation", kNoReservation);
  }
  if (!requests.empty()) {
    Value considered = Value::list();
    for (const PodSetRequests& pod_set : requests) {
      Value resources = Value::object();
      for (const auto& [resource, amount] : pod_set.total) {
        resources.set(resource, amount_text(resource, amount));
      }
      considered.push_back(Value::object({{"name", pod_set.name}, {"resources", resources}}));
    }
    edit.set("resourceRequests", considered);
  } else if (const Value& before = workload.status()["resourceRequests"]; !before.is_null()) {
    edit.set("resourceRequests", before);
  }
  edit.write(plan, kAdmissionManager);
  add_event(plan, workload, "Warning", pending.granular ? reason : "Pending", message);
}

namespace {

Value reset_checks(const Object& workload, Instant now) {
  Value checks = workload.status()["admissionChecks"];
  for (std::size_t i = 0; i < checks.size(); ++i) {
    Value& check = checks.item(i);
    const std::string state = check["state"].str();
    if (state == "Pending") {
      continue;
    }
    if (state == "Retry") {
      check.set("retryCount", check["retryCount"].as_int() + 1);
    } else {
      check.erase("retryCount");
    }
    check.set("message", fmt::format("Reset to Pending after eviction. Previously: {}", state));
    check.set("state", "Pending");
    check.set("lastTransitionTime", format_time(now));
    check.erase("podSetUpdates");
  }
  return checks;
}

Value counted(const Object& workload, const Eviction& eviction) {
  Value evictions = workload.status().at({"schedulingStats", "evictions"});
  for (std::size_t i = 0; i < evictions.size(); ++i) {
    Value& entry = evictions.item(i);
    if (entry["reason"].as_string() == eviction.reason &&
        entry["underlyingCause"].as_string() == eviction.cause) {
      entry.set("count", entry["count"].as_int() + 1);
      return evictions;
    }
  }
  evictions.push_back(Value::object(
      {{"reason", eviction.reason}, {"underlyingCause", eviction.cause}, {"count", 1}}));
  return evictions;
}

// Returns the reason of condition Evicted: of a deactivation with its cause (8.1).
std::string evicted_reason(const Eviction& eviction) {
  return eviction.reason == kDeactivated && !eviction.cause.empty()
             ? fmt::format("{}DueTo{}", eviction.reason, eviction.cause)
             : std::string(eviction.reason);
}

void evict(StatusEdit& edit, Plan& plan, const Object& workload, const Eviction& eviction,
           Instant now) {
  const std::string reason = evicted_reason(eviction);
  edit.condition("Evicted", "True", reason, eviction.message);
  if (const Value checks = reset_checks(workload, now); !checks.empty()) {
    edit.set("admissionChecks", checks);
  }
  edit.set("schedulingStats", Value::object({{"evictions", counted(workload, eviction)}}));
  if (eviction.clears_requeue) {
    edit.set("requeueState", nullptr);
  } else if (!eviction.requeue_state.is_null()) {
    edit.set("requeueState", eviction.requeue_state);
  }
  // The time of this round counts for the next one.
  if (!workload.spec()["maximumExecutionTimeSeconds"].is_null()) {
    edit.set("accumulatedPastExecutionTimeSeconds", executed_seconds(workload, now));
  }
  edit.write(plan);
  if (!has_quota(workload)) {
    return;  // as in Kueue, no event without admission
  }
  add_event(plan, workload, "Normal", "EvictedDueTo" + reason, eviction.message);
}

std::string priorities(std::string_view who, const Object& workload) {
  const std::int64_t priority = workload.spec()["priority"].as_int();
  return fmt::format("{} effective priority: {} (base: {}, boost: 0)", who, priority, priority);
}

}  // namespace

void add_event(Plan& plan, const Object& workload, std::string_view type, std::string_view reason,
               const std::string& note) {
  plan.then(Emit{.about = ref_of(workload),
                 .about_uid = std::string(workload.uid()),
                 .type = std::string(type),
                 .reason = std::string(reason),
                 .note = cut(note, kEventLimit)});
}

std::int64_t executed_seconds(const Object& workload, Instant now) {
  const std::int64_t before = workload.status()["accumulatedPastExecutionTimeSeconds"].as_int();
  const Value& conditions = workload.status()["conditions"];
  const Value& admitted = find_condition(conditions, "Admitted");
  return admitted["status"].as_string() == "True" && !condition_is(conditions, "Evicted", "True")
             ? before + seconds_since(admitted["lastTransitionTime"].as_string(), now)
             : before;
}

void add_eviction(Plan& plan, const Object& workload, const Eviction& eviction, Instant now) {
  StatusEdit edit(workload, now);
  evict(edit, plan, workload, eviction, now);
}

Plan preemption(const Snapshot& snapshot, const Object& preemptor, const ClusterQueue& queue,
                const Target& target, Instant now) {
  Plan plan;
  const Object& victim = target.held->object;
  const std::string_view job = preemptor.label("kueue.x-k8s.io/job-uid");
  const std::string message = fmt::format(
      "Preempted to accommodate a workload (UID: {}, JobUID: {}) due to {}; preemptor path: {}; "
      "preemptee path: {}",
      preemptor.uid(), job.empty() ? std::string_view("UNKNOWN") : job, text_of(target.why),
      path_of(snapshot, queue.node), path_of(snapshot, target.held->queue->node));
  StatusEdit edit(victim, now);
  edit.condition("Preempted", "True", reason_of(target.why), message);
  evict(edit, plan, victim, {.reason = "Preempted", .message = message}, now);
  const std::string both =
      fmt::format("{}; {}", priorities("preemptor", preemptor), priorities("preemptee", victim));
  add_event(plan, victim, "Normal", "Preempted", fmt::format("{}; {}", message, both));
  add_event(plan, preemptor, "Normal", "PreemptedWorkload",
            fmt::format("Preempted workload {} (UID: {}) in ClusterQueue {}; {}",
                        victim.key().text(), victim.uid(), target.held->queue->name, both));
  return plan;
}

void add_deactivation(Plan& plan, const Object& workload, std::string_view reason,
                      const std::string& message, Instant now) {
  StatusEdit edit(workload, now);
  edit.condition("DeactivationTarget", "True", reason, message);
  edit.write(plan);
  plan.then(Patch{.target = ref_of(workload),
                  .merge = Value::object({{"spec", Value::object({{"active", false}})}}),
                  .guard = {.uid = std::string(workload.uid())}});
}

void forget_backoff(Plan& plan, const Object& workload, Instant now) {
  StatusEdit edit(workload, now);
  edit.set("requeueState", nullptr);
  edit.write(plan);
}

void end_backoff(Plan& plan, const Object& workload, Instant now) {
  StatusEdit edit(workload, now);
  if (Value state = workload.status()["requeueState"]; !state.is_null()) {
    state.set("requeueAt", nullptr);
    edit.set("requeueState", std::move(state));
  }
  edit.condition("Requeued", "True", "BackoffFinished", "The workload backoff was finished");
  edit.write(plan);
}

void add_release(Plan& plan, const Object& workload, const PendingReason& reason,
                 const std::string& message, Instant now) {
  StatusEdit edit(workload, now);
  edit.condition("QuotaReserved", "False", reason_of(reason.why, reason.granular), message);
  if (find_condition(edit.conditions(), "Admitted").is_object()) {
    edit.condition("Admitted", "False", "NoReservation", kNoReservation);
  }
  edit.set("admission", nullptr);
  edit.write(plan);
}

void forget_requests(Plan& plan, const Object& workload, Instant now) {
  StatusEdit edit(workload, now);
  edit.set("resourceRequests", nullptr);
  edit.write(plan);
}

void add_requeued(Plan& plan, const Object& workload, std::string_view reason,
                  std::string_view message, Instant now) {
  StatusEdit edit(workload, now);
  edit.condition("Requeued", "True", reason, std::string(message));
  edit.write(plan);
}

void add_reactivated(Plan& plan, const Object& workload, Instant now) {
  constexpr const char* kMessage = "The workload was reactivated";
  StatusEdit edit(workload, now);
  edit.condition("Requeued", "True", "Reactivated", kMessage);
  if (condition_is(edit.conditions(), "DeactivationTarget", "True")) {
    edit.condition("DeactivationTarget", "False", "Reactivated", kMessage);
  }
  edit.set("accumulatedPastExecutionTimeSeconds", nullptr);
  edit.write(plan);
}

}  // namespace athanor::kueue
