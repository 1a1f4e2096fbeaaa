// SPDX-License-Identifier: Apache-2.0
// Kueue took the cluster away: stop the run, then queue the job again or fail it
// (docs/spec/fournos.md 8.4).
//
// The condition WorkloadAdmitted=False/Evicted marks that the eviction was noticed. A run that
// ended before that counts as what it is; so does a missing Workload beside a finished run, which
// is our own last step. A run that was cancelled while its Workload is evicted was cancelled by us:
// the mark is the second write, and a crash may come between the two.
#include <fmt/format.h>

#include "api/kueue.hpp"
#include "kube/value/condition.hpp"
#include "systems/fournos/messages.hpp"
#include "systems/fournos/phases.hpp"
#include "systems/fournos/status_write.hpp"

namespace athanor::fournos {
namespace {

constexpr std::string_view kEvictedReason = "Evicted";
constexpr std::string_view kWorkloadDeleted = "WorkloadDeleted";
constexpr std::string_view kCancelFinally = "CancelledRunFinally";

struct Eviction {
  std::string reason{};
  std::string message{};
};

std::optional<Eviction> eviction_of(const Object* workload) {
  if (workload == nullptr) {
    return Eviction{.reason = std::string(kWorkloadDeleted)};
  }
  const Value& conditions = workload->status()["conditions"];
  const Value& evicted = find_condition(conditions, "Evicted");
  if (evicted["status"].as_string() == "True") {
    return Eviction{.reason = evicted["reason"].str(), .message = evicted["message"].str()};
  }
  if (!condition_is(conditions, "Admitted", "True")) {
    return Eviction{.reason = "AdmissionLost"};
  }
  return std::nullopt;
}

bool noticed(const Job& job) {
  const Value& condition =
      find_condition(job.object().status()["conditions"], condition::kWorkloadAdmitted);
  return condition["status"].as_string() == "False" &&
         condition["reason"].as_string() == kEvictedReason;
}

Plan cancel(const Context& context, const Eviction& eviction, const Child& run) {
  Plan plan;
  if (run.object.spec()["status"].as_string().empty()) {
    Value merge = Value::object();
    merge.set_path({"spec", "status"}, kCancelFinally);
    plan.then(Patch{.target = run.ref,
                    .merge = std::move(merge),
                    .guard = {.uid = std::string(run.object.uid())}});
  }
  const std::string message = fmt::format(text::kEvicting, eviction.reason);
  if (!noticed(context.job)) {
    StatusWrite(context)
        .message(message)
        .condition(condition::kWorkloadAdmitted, Truth::False, kEvictedReason,
                   eviction.message.empty() ? message : eviction.message)
        .into(plan);
  }
  return plan;
}

Plan fail_evicted(const Context& context, const Eviction& eviction) {
  const std::string message = fmt::format(text::kEvicted, eviction.reason);
  Plan plan = release_workload(context);
  StatusWrite(context)
      .enter(phase::kFailed, message)
      .condition(condition::kWorkloadAdmitted, Truth::False, kEvictedReason,
                 eviction.message.empty() ? message : eviction.message)
      .into(plan);
  return plan;
}

// The next run of the operator, in Pending, makes the fresh Workload once the old one is gone.
Plan requeue(const Context& context, const Eviction& eviction) {
  const std::string message = fmt::format(text::kRequeued, eviction.reason);
  Plan plan = release_workload(context);
  StatusWrite status(context);
  status.enter(phase::kPending, message)
      .set("cluster", nullptr)
      .set("pipelineRun", nullptr)
      .set("dashboardURL", nullptr)
      .condition(condition::kWorkloadAdmitted, Truth::False, kEvictedReason,
                 eviction.message.empty() ? message : eviction.message);
  if (context.settings.api() == api::FournosApi::Auto) {
    status.set("evictions", context.job.status().evictions + 1);
  }
  status.into(plan);
  return plan;
}

// A lock does not leave the queue: its Workload gives the quota back and waits where it is
// (docs/spec/hearth.md 9.3).
Plan wait_again(const Context& context, const Eviction& eviction, const Child& workload) {
  Value conditions = workload.object.status()["conditions"];
  const auto set = [&](std::string_view type, std::string_view truth, std::string_view reason,
                       const std::string& message) {
    set_condition(conditions,
                  {.type = std::string(type),
                   .status = std::string(truth),
                   .reason = std::string(reason),
                   .message = message,
                   .observed_generation = workload.object.generation()},
                  context.now);
  };
  if (find_condition(conditions, name::kPodsReady).is_object()) {
    set(name::kPodsReady, "False", "WaitForStart", "Not all pods are ready or succeeded");
  }
  set("QuotaReserved", "False", "Pending", eviction.message);
  set("Admitted", "False", "NoReservation", "The workload has no reservation");
  set("Requeued", "True", eviction.reason, eviction.message);
  const std::string message = fmt::format(text::kRequeued, eviction.reason);
  Plan plan;
  plan.then(Status{
      .target = workload.ref,
      .status = Value::object({{"conditions", std::move(conditions)}, {"admission", nullptr}}),
      .guard = {.uid = std::string(workload.object.uid()),
                .resource_version = std::string(workload.object.resource_version())}});
  StatusWrite(context)
      .enter(phase::kPending, message)
      .condition(condition::kWorkloadAdmitted, Truth::False, kEvictedReason,
                 eviction.message.empty() ? message : eviction.message)
      .into(plan);
  return plan;
}

}  // namespace

std::optional<Plan> handle_eviction(const Context& context, const Child& workload,
                                    const Child& run) {
  const EvictionPolicy policy = context.settings.eviction_policy();
  const bool ignored = policy == EvictionPolicy::Ignore && !context.job.lock_only;
  if (ignored || context.job.clusterless) {
    return std::nullopt;
  }
  auto eviction = eviction_of(workload.ours() ? &workload.object : nullptr);
  if (!eviction) {
    return std::nullopt;
  }
  if (!workload.ours()) {
    if (auto waiting = await_kinds(context)) {
      return waiting;
    }
  }
  // A lagging view must not stop a good run: what it says is looked up before anything is done
  // about it.
  if (!noticed(context.job)) {
    const LiveChild live = live_child(context, {&api::kueue::kWorkload, context.job.object().key()},
                                      workload.object.resource_version());
    if (!live.known) {
      return await_answer(context);
    }
    eviction = eviction_of(live.object ? &*live.object : nullptr);
    if (!eviction) {
      return std::nullopt;
    }
  }
  if (context.job.lock_only) {
    return workload.ours() ? wait_again(context, *eviction, workload) : requeue(context, *eviction);
  }
  if (run.ours()) {
    const RunState state = run_state(run.object);
    const bool done = state.done();
    if (!done && !noticed(context.job)) {
      // Its end may be what the view lacks: then the Workload went with it, and nothing was taken.
      const LiveChild live = live_child(context, run.ref, run.object.resource_version());
      if (!live.known) {
        return await_answer(context);
      }
      if (!live.object || run_state(*live.object).done()) {
        return std::nullopt;
      }
    }
    const bool cancelled = run.object.spec()["status"].as_string() == kCancelFinally &&
                           !state.succeeded && eviction->reason != kWorkloadDeleted;
    if (!done || (cancelled && !noticed(context.job))) {
      return cancel(context, *eviction, run);
    }
    if (!noticed(context.job)) {
      return std::nullopt;
    }
    if (policy == EvictionPolicy::Requeue) {
      Plan plan;
      remove(plan, run);
      return plan;
    }
  } else if (context.job.status().phase == phase::kRunning && !noticed(context.job)) {
    return std::nullopt;  // the run was deleted: section 10 applies
  }
  return policy == EvictionPolicy::Fail ? fail_evicted(context, *eviction)
                                        : requeue(context, *eviction);
}

}  // namespace athanor::fournos
