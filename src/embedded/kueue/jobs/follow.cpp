// SPDX-License-Identifier: Apache-2.0
#include "embedded/kueue/jobs/follow.hpp"

#include <utility>

#include "api/kueue_integration.hpp"
#include "api/kueue_pods_ready.hpp"
#include "embedded/kueue/jobs/job_workload.hpp"
#include "embedded/kueue/jobs/names.hpp"

namespace athanor::kueue::jobs {
namespace {

using api::kueue::ClassChange;

ClassChange wanted_class(const Object& workload, const Object& job) {
  return api::kueue::class_change(workload, job.label(name::kPriorityClass),
                                  !job.label(name::kPrebuilt).empty());
}

void add_conditions(Value& list, const Object& workload, std::vector<Condition> conditions,
                    Instant now) {
  for (Condition& one : conditions) {
    one.observed_generation = workload.generation();
    set_condition(list, one, now);
  }
}

}  // namespace

bool says(const Object& workload, std::string_view type) {
  return condition_is(workload.status()["conditions"], type, "True");
}

bool follow_gate(Plan& plan, const Object& workload, const Object& job) {
  if (!job.label(name::kPrebuilt).empty()) {
    return false;  // a prebuilt Workload has its own
  }
  auto merge = api::kueue::gate_patch(workload, job);
  if (!merge) {
    return false;
  }
  plan.then(
      Patch{.target = ref_to(workload), .merge = *std::move(merge), .guard = guard_for(workload)});
  return true;
}

bool follow_queue(Plan& plan, const Object& workload, std::string_view queue) {
  if (says(workload, "QuotaReserved") || workload.spec()["queueName"].as_string() == queue) {
    return false;
  }
  Value name = queue.empty() ? Value() : Value(queue);
  plan.then(
      Patch{.target = ref_to(workload),
            .merge = Value::object({{"spec", Value::object({{"queueName", std::move(name)}})}}),
            .guard = guard_for(workload)});
  return true;
}

Result<bool> follow_priority(Plan& plan, const View& view, const Object& workload,
                             const Object& job) {
  if (wanted_class(workload, job) != ClassChange::Possible) {
    return false;
  }
  ATHANOR_TRY(const Priority priority, priority_of(view, job, workload.spec()["podSets"]));
  plan.then(Patch{
      .target = ref_to(workload),
      .merge = Value::object({{"spec", Value::object({{"priorityClassRef", priority.class_ref},
                                                      {"priority", priority.value}})}}),
      .guard = guard_for(workload)});
  return true;
}

std::optional<std::string> kept_priority(const Object& workload, const Object& job) {
  return wanted_class(workload, job) == ClassChange::AfterRelease
             ? std::optional(api::kueue::not_updated(workload, "priority class"))
             : std::nullopt;
}

void write_finished(Plan& plan, const Object& workload, std::string_view reason,
                    std::string_view message, Instant now) {
  Value list = workload.status()["conditions"];
  add_conditions(list, workload,
                 {{"Finished", "True", std::string(reason), std::string(message), {}}}, now);
  plan.then(Status{.target = ref_to(workload),
                   .status = Value::object({{"conditions", std::move(list)}}),
                   .guard = guard_for(workload)});
}

void release_quota(Plan& plan, const Object& workload, std::string_view reason, Instant now) {
  Value list = workload.status()["conditions"];
  const Value& evicted = find_condition(workload.status()["conditions"], "Evicted");
  const std::string message = evicted["message"].str();
  const std::string cause = evicted["reason"].str();
  add_conditions(list, workload,
                 {{"QuotaReserved", "False", std::string(reason), message, {}},
                  {"Admitted", "False", "NoReservation", "The workload has no reservation", {}},
                  {"Requeued", cause == "Preempted" ? "True" : "False", cause, message, {}}},
                 now);
  if (auto stopped = api::kueue::pods_ready_after_stop(list)) {
    add_conditions(list, workload, {*std::move(stopped)}, now);
  }
  Value status = Value::object({{"conditions", std::move(list)}});
  status.set("admission", nullptr);
  if (!workload.status()["reclaimablePods"].is_null()) {
    status.set("reclaimablePods", nullptr);
  }
  plan.then(Status{
      .target = ref_to(workload), .status = std::move(status), .guard = guard_for(workload)});
}

void follow_readiness(Plan& plan, const Object& workload, const Readiness& readiness, Instant now) {
  Value status = Value::object();
  auto condition = readiness.awaited
                       ? api::kueue::pods_ready_condition(
                             workload.status()["conditions"],
                             {.admitted = readiness.admitted, .ready = readiness.ready})
                       : std::nullopt;
  if (condition) {
    Value list = workload.status()["conditions"];
    add_conditions(list, workload, {*std::move(condition)}, now);
    status.set("conditions", std::move(list));
  }
  // It only grows while quota is held (5.3).
  if (const Value& pods = readiness.reclaimable;
      readiness.admitted && pods.is_list() && pods != workload.status()["reclaimablePods"]) {
    status.set("reclaimablePods", pods);
  }
  if (!status.empty()) {
    plan.then(Status{
        .target = ref_to(workload), .status = std::move(status), .guard = guard_for(workload)});
  }
}

}  // namespace athanor::kueue::jobs
