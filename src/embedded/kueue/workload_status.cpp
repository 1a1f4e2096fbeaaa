// SPDX-License-Identifier: Apache-2.0
// Status steps of Workloads. Statuses are written whole per key and guarded by the version they
// were made from.
#include "embedded/kueue/workload_status.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "api/kueue.hpp"
#include "kube/value/condition.hpp"

namespace athanor::kueue {
namespace {

constexpr std::size_t kEventLimit = 1024;

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
    set_condition(conditions_,
                  {.type = std::string(type),
                   .status = std::string(status),
                   .reason = std::string(reason),
                   .message = cut(message, kConditionMessageLimit),
                   .observed_generation = workload_.generation()},
                  now_);
  }
  [[nodiscard]] const Value& conditions() const { return conditions_; }
  void set(std::string_view key, Value value) { status_.set(key, std::move(value)); }

  void write(Plan& plan) {
    if (conditions_.is_list()) {
      status_.set("conditions", conditions_);
    }
    plan.then(Status{
        .target = ref_of(workload_), .status = std::move(status_), .guard = guard_of(workload_)});
  }

 private:
  const Object& workload_;
  Instant now_;
  Value conditions_;
  Value status_ = Value::object();
};

void emit(Plan& plan, const Object& workload, std::string_view type, std::string_view reason,
          const std::string& note) {
  plan.then(Emit{.about = ref_of(workload),
                 .about_uid = std::string(workload.uid()),
                 .type = std::string(type),
                 .reason = std::string(reason),
                 .note = cut(note, kEventLimit)});
}

std::int64_t seconds_since(std::string_view time, Instant now) {
  const auto then = parse_time(time);
  return then ? std::max<std::int64_t>(
                    0, std::chrono::duration_cast<std::chrono::seconds>(now - *then).count())
              : 0;
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
    assignments.push_back(Value::object({{"name", pod_set.name},
                                         {"flavors", flavors},
                                         {"resourceUsage", usage},
                                         {"count", pod_set.count}}));
  }
  return Value::object({{"clusterQueue", queue.name}, {"podSetAssignments", assignments}});
}

// The checks of the queue that apply to the assigned flavors, all pending (docs/spec/kueue.md 8.6).
Value pending_checks(const ClusterQueue& queue, const Assignment& assignment, Instant now) {
  std::set<std::string> assigned;
  for (const PodSetAssignment& pod_set : assignment.pod_sets) {
    for (const auto& [resource, flavor] : pod_set.flavors) {
      assigned.insert(flavor);
    }
  }
  Value checks = Value::list();
  for (const Value& rule :
       queue.object.spec().at({"admissionChecksStrategy", "admissionChecks"}).items()) {
    const Value& flavors = rule["onFlavors"];
    const bool applies =
        flavors.empty() || std::ranges::any_of(flavors.items(), [&](const Value& flavor) {
          return assigned.contains(flavor.str());
        });
    if (applies) {
      checks.push_back(Value::object({{"name", rule["name"]},
                                      {"state", "Pending"},
                                      {"message", ""},
                                      {"lastTransitionTime", format_time(now)}}));
    }
  }
  return checks;
}

// Earlier evictions are history once quota is reserved again.
void retire(StatusEdit& edit, const Object& workload) {
  for (const char* type : {"Evicted", "Preempted"}) {
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

void add_admission(Plan& plan, const Object& workload, const ClusterQueue& queue,
                   const Assignment& assignment, Instant now) {
  StatusEdit edit(workload, now);
  const std::string reserved = fmt::format("Quota reserved in ClusterQueue {}", queue.name);
  edit.condition("QuotaReserved", "True", "QuotaReserved", reserved);
  const Value checks = pending_checks(queue, assignment, now);
  if (checks.empty()) {
    edit.condition("Admitted", "True", "Admitted", "The workload is admitted");
  } else {
    edit.condition("Admitted", "False", "UnsatisfiedChecks",
                   "The workload has not all checks ready");
    edit.set("admissionChecks", checks);
  }
  retire(edit, workload);
  edit.set("admission", admission_of(queue, assignment));
  edit.set("resourceRequests", nullptr);
  edit.write(plan);
  emit(plan, workload, "Normal", "QuotaReserved",
       fmt::format("{}, wait time since queued was {}s", reserved,
                   seconds_since(workload.metadata()["creationTimestamp"].as_string(), now)));
  if (checks.empty()) {
    emit(
        plan, workload, "Normal", "Admitted",
        fmt::format("Admitted by ClusterQueue {}, wait time since reservation was 0s", queue.name));
  }
}

void add_checks_passed(Plan& plan, const Object& workload, Instant now) {
  StatusEdit edit(workload, now);
  edit.condition("Admitted", "True", "Admitted", "The workload is admitted");
  edit.write(plan);
  const Value& reserved = find_condition(workload.status()["conditions"], "QuotaReserved");
  emit(plan, workload, "Normal", "Admitted",
       fmt::format("Admitted by ClusterQueue {}, wait time since reservation was {}s",
                   workload.status()["admission"]["clusterQueue"].as_string(),
                   seconds_since(reserved["lastTransitionTime"].as_string(), now)));
}

void add_pending(Plan& plan, const Object& workload, std::string_view reason,
                 const std::string& message, const std::vector<PodSetRequests>& requests,
                 Instant now) {
  const Value& current = find_condition(workload.status()["conditions"], "QuotaReserved");
  const std::string kept = cut(message, kConditionMessageLimit);
  if (current["status"].as_string() == "False" && current["reason"].as_string() == reason &&
      current["message"].as_string() == kept) {
    return;
  }
  StatusEdit edit(workload, now);
  edit.condition("QuotaReserved", "False", reason, kept);
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
  }
  edit.write(plan);
  emit(plan, workload, "Warning", "Pending", message);
}

namespace {

void evict(StatusEdit& edit, Plan& plan, const Object& workload, std::string_view reason,
           const std::string& message, Instant now) {
  edit.condition("Evicted", "True", reason, message);
  Value checks = workload.status()["admissionChecks"];
  for (std::size_t i = 0; i < checks.size(); ++i) {
    Value& check = checks.item(i);
    check.set("message", fmt::format("Reset to Pending after eviction. Previously: {}",
                                     check["state"].as_string()));
    check.set("state", "Pending");
    check.set("lastTransitionTime", format_time(now));
  }
  if (!checks.empty()) {
    edit.set("admissionChecks", checks);
  }
  Value evictions = workload.status().at({"schedulingStats", "evictions"});
  bool counted = false;
  for (std::size_t i = 0; i < evictions.size() && !counted; ++i) {
    Value& entry = evictions.item(i);
    if (entry["reason"].as_string() == reason) {
      entry.set("count", entry["count"].as_int() + 1);
      counted = true;
    }
  }
  if (!counted) {
    evictions.push_back(Value::object({{"reason", reason}, {"underlyingCause", ""}, {"count", 1}}));
  }
  edit.set("schedulingStats", Value::object({{"evictions", evictions}}));
  edit.write(plan);
  emit(plan, workload, "Normal", fmt::format("EvictedDueTo{}", reason), message);
}

}  // namespace

void add_eviction(Plan& plan, const Object& workload, std::string_view reason,
                  const std::string& message, Instant now) {
  StatusEdit edit(workload, now);
  evict(edit, plan, workload, reason, message, now);
}

void add_timeout_eviction(Plan& plan, const Object& workload, std::int64_t count, Instant again,
                          Instant now) {
  StatusEdit edit(workload, now);
  edit.set("requeueState", Value::object({{"count", count}, {"requeueAt", format_time(again)}}));
  evict(edit, plan, workload, "PodsReadyTimeout",
        fmt::format("Exceeded the PodsReady timeout {}", workload.key().text()), now);
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

void end_backoff(Plan& plan, const Object& workload, Instant now) {
  StatusEdit edit(workload, now);
  Value state = workload.status()["requeueState"];
  state.set("requeueAt", nullptr);
  edit.set("requeueState", std::move(state));
  edit.condition("Requeued", "True", "BackoffFinished", "The workload backoff was finished");
  edit.write(plan);
}

void add_release(Plan& plan, const Object& workload, std::string_view reason,
                 const std::string& message, Instant now) {
  StatusEdit edit(workload, now);
  edit.condition("QuotaReserved", "False", reason, message);
  if (find_condition(edit.conditions(), "Admitted").is_object()) {
    edit.condition("Admitted", "False", "NoReservation", "The workload has no reservation");
  }
  edit.set("admission", nullptr);
  edit.write(plan);
}

void add_requeued(Plan& plan, const Object& workload, std::string_view reason,
                  std::string_view message, Instant now) {
  StatusEdit edit(workload, now);
  edit.condition("Requeued", "True", reason, std::string(message));
  edit.write(plan);
}

}  // namespace athanor::kueue
