// SPDX-License-Identifier: Apache-2.0
#include "embedded/kueue/jobs/follow.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "api/kueue_integration.hpp"
#include "api/kueue_pods_ready.hpp"
#include "embedded/kueue/jobs/identifiers.hpp"
#include "embedded/kueue/jobs/job_workload.hpp"
#include "embedded/kueue/jobs/names.hpp"

namespace athanor::kueue::jobs {
namespace {

using api::kueue::ClassChange;

ClassChange wanted_class(const Object& workload, const Object& job) {
  return api::kueue::class_change(workload, job.label(name::kPriorityClass),
                                  !prebuilt_name(job).empty());
}

void add_conditions(Value& list, const Object& workload, std::vector<Condition> conditions,
                    Instant now) {
  for (Condition& one : conditions) {
    one.observed_generation = workload.generation();
    api::kueue::set_workload_condition(list, one, now);
  }
}

// Returns status.reclaimablePods with these pods added: counts never fall while quota is held
// (5.3), nor exceed their pod set.
Value grown(const Object& workload, const Value& pods) {
  const Value& before = workload.status()["reclaimablePods"];
  const auto count_in = [](const Value& list, const Value& name) {
    const auto items = list.items();
    const auto found =
        std::ranges::find_if(items, [&](const Value& one) { return one["name"] == name; });
    return found == items.end() ? 0 : (*found)["count"].as_int();
  };
  Value list = Value::list();
  for (const Value& pod_set : workload.spec()["podSets"].items()) {
    const Value& name = pod_set["name"];
    const std::int64_t count = std::max(count_in(before, name),
                                        std::min(count_in(pods, name), pod_set["count"].as_int(1)));
    if (count > 0) {
      list.push_back(Value::object({{"name", name}, {"count", count}}));
    }
  }
  return list;
}

}  // namespace

bool says(const Object& workload, std::string_view type) {
  return condition_is(workload.status()["conditions"], type, "True");
}

bool follow_gate(Plan& plan, const Object& workload, const Object& job) {
  if (!prebuilt_name(job).empty()) {
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

bool write_replacements(Plan& plan, const Object& workload, bool wanted, Instant now) {
  const Value& current =
      find_condition(workload.status()["conditions"], api::kueue::kWaitingForReplacement);
  Condition condition{std::string(api::kueue::kWaitingForReplacement),
                      "True",
                      "PodsFailed",
                      "Some Failed pods need replacement",
                      {}};
  if (!wanted) {
    if (current["status"].as_string() != "True") {
      return false;
    }
    condition.status = "False";
    condition.reason = "PodsReady";
    condition.message = "No pods need replacement";
  } else if (says(workload, "Evicted")) {
    const Value& evicted = find_condition(workload.status()["conditions"], "Evicted");
    condition.reason = evicted["reason"].str();
    condition.message = evicted["message"].str();
  }
  if (current["status"].as_string() == condition.status &&
      (!says(workload, "Evicted") || (current["reason"].as_string() == condition.reason &&
                                      current["message"].as_string() == condition.message))) {
    return false;
  }
  Value list = workload.status()["conditions"];
  add_conditions(list, workload, {std::move(condition)}, now);
  plan.then(Status{.target = ref_to(workload),
                   .status = Value::object({{"conditions", std::move(list)}}),
                   .guard = guard_for(workload)});
  return true;
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
  if (readiness.admitted && readiness.reclaimable.is_list()) {
    if (Value pods = grown(workload, readiness.reclaimable);
        !pods.empty() && pods != workload.status()["reclaimablePods"]) {
      status.set("reclaimablePods", std::move(pods));
    }
  }
  if (!status.empty()) {
    plan.then(Status{
        .target = ref_to(workload), .status = std::move(status), .guard = guard_for(workload)});
  }
}

}  // namespace athanor::kueue::jobs
