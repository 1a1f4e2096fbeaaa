// SPDX-License-Identifier: Apache-2.0
// The FournosJob operator: order of evaluation (docs/spec/fournos.md 4.1), how long a job stays in
// each phase at least (FOURNOS_MIN_PHASE_SEC), and what it reads and writes.
#include <algorithm>
#include <chrono>
#include <string_view>
#include <utility>
#include <variant>

#include "api/builtin.hpp"
#include "api/kueue.hpp"
#include "api/tekton.hpp"
#include "runtime/view/step.hpp"
#include "systems/fournos/kinds/fournos_job.hpp"
#include "systems/fournos/messages.hpp"
#include "systems/fournos/operators.hpp"
#include "systems/fournos/phases.hpp"
#include "systems/fournos/secrets.hpp"
#include "systems/fournos/ttl.hpp"
#include "systems/hearth/kinds/fournos_cluster.hpp"

namespace athanor::fournos {
namespace {

// Times in a status are whole seconds, cut off.
constexpr Duration kCutOff = std::chrono::seconds(1);

// Returns true if the plan moves the job on to another phase.
bool moves_on(const Context& context, const Plan& plan) {
  const std::string_view phase = context.job.status().phase;
  return std::any_of(plan.steps().begin(), plan.steps().end(), [&](const Step& step) {
    const auto* write = std::get_if<Status>(&step);
    return write != nullptr && write->target == context.job.ref() &&
           write->status["phase"].is_string() && write->status["phase"].as_string() != phase;
  });
}

// Returns the time at which the job entered its phase: every phase moves a condition.
Instant entered(const Context& context) {
  Instant last = context.job.object().creation_time().value_or(context.now);
  for (const Value& condition : context.job.object().status()["conditions"].items()) {
    last = std::max(last, parse_time(condition["lastTransitionTime"].as_string()).value_or(last));
  }
  return last;
}

}  // namespace

Plan hold_phase(const Context& context, Plan plan) {
  const Duration least = context.settings.least_phase_time();
  const bool free = context.job.status().phase.empty() || !context.job.spec().shutdown.empty();
  if (least == Duration::zero() || free || !moves_on(context, plan)) {
    return plan;
  }
  const Instant until = entered(context) + least + kCutOff;
  if (until <= context.now) {
    return plan;
  }
  Plan wait;
  wait.wake_at(until);
  return wait;
}

namespace {

// R14.6: jobs of an upstream operator carry its finalizer, which would never be removed otherwise.
Plan drop_foreign_finalizer(const Object& job) {
  Value finalizers = Value::list();
  for (const Value& finalizer : job.metadata()["finalizers"].items()) {
    if (finalizer.as_string() != name::kKopfFinalizer) {
      finalizers.push_back(finalizer);
    }
  }
  Value merge = Value::object();
  merge.set_path({"metadata", "finalizers"}, std::move(finalizers));
  Plan plan;
  plan.then(Patch{.target = {&api::kFournosJob, job.key()},
                  .merge = std::move(merge),
                  .guard = {.uid = std::string(job.uid()),
                            .resource_version = std::string(job.resource_version())}});
  return plan;
}

// A finished job is left alone, but for its ttl (section 19) and its copies of Secrets.
Plan outlive(const Context& context) {
  const Job& job = context.job;
  Plan plan = expire_secrets(context);
  const auto ttl = parse_ttl(job.spec().ttl);
  if (!ttl || !job.status().completion_time) {
    return plan;
  }
  const Instant end = *job.status().completion_time + *ttl;
  if (end > context.now) {
    plan.wake_at(end);
  } else {
    plan.then(Delete{.target = job.ref(), .guard = {.uid = job.uid()}});
  }
  return plan;
}

Plan by_phase(const Context& context) {
  const std::string& phase = context.job.status().phase;
  if (phase == phase::kStopping) {
    return finish_shutdown(context);
  }
  if (phase.empty() || phase == phase::kScheduled || phase == phase::kRecurring) {
    return create(context);
  }
  if (!context.job.spec().shutdown.empty()) {
    return begin_shutdown(context);
  }
  if (auto expired = expire_lock(context)) {
    return *std::move(expired);
  }
  if (phase == phase::kResolving) {
    return resolve(context);
  }
  if (phase == phase::kPending) {
    return await_admission(context);
  }
  if (phase == phase::kAdmitted) {
    return start_run(context);
  }
  return phase == phase::kRunning ? watch_run(context) : Plan::done();
}

}  // namespace

Plan reconcile_job(const View& view, const Key& key, const Settings& settings, Instant now) {
  auto typed = view.get<api::FournosJob>(key);
  if (!typed) {
    return Plan::done();
  }
  if (typed->object.has_finalizer(name::kKopfFinalizer)) {
    return drop_foreign_finalizer(typed->object);
  }
  if (typed->object.deleting()) {
    return Plan::done();
  }
  const Job job = effective(*std::move(typed));
  const Context context{.view = view, .settings = settings, .job = job, .now = now};
  if (is_terminal(job.status().phase)) {
    return outlive(context);
  }
  Plan plan = hold_phase(context, by_phase(context));
  plan.wake_at(now + std::chrono::seconds(settings.second_look_seconds));
  if (const auto end = parse_time(job.spec().lock_until); job.lock_only && end && *end > now) {
    plan.wake_at(*end);
  }
  return plan;
}

namespace {

Plan reconcile(const View& view, const Key& key, Instant now) {
  const auto settings = api::decode<Settings>(view.config("fournos"));
  return key.ns == settings.workload_namespace ? reconcile_job(view, key, settings, now)
                                               : Plan::done();
}

constexpr const Kind* kReads[] = {&api::kFournosJob,
                                  &api::kueue::kWorkload,
                                  &api::kueue::kResourceFlavor,
                                  &api::kueue::kClusterQueue,
                                  &api::kueue::kWorkloadPriorityClass,
                                  &api::kPipelineRun,
                                  &api::kPipeline,
                                  &api::kFournosCluster,
                                  &api::kJob,
                                  &api::kSecret};
constexpr const Kind* kWrites[] = {&api::kFournosJob, &api::kueue::kWorkload, &api::kPipelineRun,
                                   &api::kJob, &api::kSecret};
constexpr Access kAccess[] = {
    {&api::kFournosJob, "get create patch delete"},
    {&api::kFournosJob, "patch", "status"},
    {&api::kFournosJob, "update", "finalizers"},  // of its children's owner
    {&api::kueue::kWorkload, "get create delete"},
    {&api::kueue::kWorkload, "patch", "status"},  // PodsReady, and the quota of an evicted lock
    {&api::kueue::kResourceFlavor, "get"},
    {&api::kueue::kWorkloadPriorityClass, "get"},
    {&api::kPipelineRun, "get create patch delete"},
    {&api::kPipeline, "get"},
    {&api::kJob, "get create delete"},
    {&api::kSecret, "get create delete"},
    {&api::kEvent, "create patch"}};
constexpr const Kind* kSmall[] = {&api::kueue::kClusterQueue, &api::kueue::kResourceFlavor,
                                  &api::kueue::kWorkloadPriorityClass};

}  // namespace

const Operator& fournosjob_operator() {
  static constexpr Operator kOperator{
      .name = "fournosjob",
      .primary = &api::kFournosJob,
      .reads = kReads,
      .writes = kWrites,
      .reconcile = reconcile,
      .sees_all = true,  // from an older state a job's run would be made a second time
      // docs/spec/fournos.md R14.4
      .backoff = {.first = std::chrono::seconds(1), .most = std::chrono::seconds(60)},
      .small = kSmall,
      .access = kAccess,
      .log_subject = "Job",
  };
  return kOperator;
}

}  // namespace athanor::fournos
