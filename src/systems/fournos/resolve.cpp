// SPDX-License-Identifier: Apache-2.0
// Resolving: the engine's own Job fills in what the user left open (docs/spec/fournos.md section
// 6).
#include <fmt/format.h>

#include "api/builtin.hpp"
#include "api/tekton.hpp"
#include "kube/value/condition.hpp"
#include "runtime/view/failures.hpp"
#include "systems/fournos/desired.hpp"
#include "systems/fournos/messages.hpp"
#include "systems/fournos/phase.hpp"
#include "systems/fournos/phases.hpp"
#include "systems/fournos/secrets.hpp"

namespace athanor::fournos {
namespace {

// How often a resolve Job is read that cannot be watched.
constexpr Duration kResolvePoll = std::chrono::seconds(10);

Plan fail(const Tick& tick, std::string_view reason, std::string_view message,
          std::string_view condition = {}) {
  Plan plan;
  StatusWrite(tick)
      .enter(phase::kFailed, message)
      .condition(condition::kResolved, Truth::False, reason,
                 condition.empty() ? message : condition)
      .into(plan);
  return plan;
}

Plan start(const Tick& tick) {
  const std::string& pipeline_name = tick.job.spec().pipeline;
  const Sure found = surely(tick, api::kPipeline, {tick.job.ns(), pipeline_name});
  const bool denied = found.error && is_refusal(*found.error);
  if (!found.known && !denied) {
    return await_answer(tick);
  }
  const std::optional<Object>& pipeline = found.object;
  if (!pipeline) {
    const int code = denied ? found.error->code : 404;
    return fail(tick, "PipelineNotFound",
                fmt::format(text::kFetchPipeline, pipeline_name, http_reason(code)));
  }
  const std::string_view image = pipeline->annotation(name::kResolveImage);
  if (image.empty()) {
    return fail(tick, "MissingResolveImage", fmt::format(text::kNoResolveImage, pipeline_name));
  }
  Ensured resolve_job = ensure(tick, api::kJob, resolve_job_object(tick, image));
  if (resolve_job.state == Ensured::State::Refused) {
    return fail(tick, "CreateFailed", fmt::format(text::kCreateResolve, resolve_job.reason));
  }
  Plan plan = std::move(resolve_job.steps);
  if (resolve_job.state == Ensured::State::Ready) {
    StatusWrite(tick)
        .message(text::kResolving)
        .condition(condition::kResolved, Truth::False, "Resolving", text::kResolveStarted)
        .into(plan);
  }
  return plan;
}

Plan enter_clusterless(const Tick& tick) {
  Plan plan;
  StatusWrite(tick)
      .enter(phase::kAdmitted, text::kClusterlessReady)
      .set("cluster", name::kClusterless)
      .condition(condition::kResolved, Truth::True, "Resolved", text::kResolved)
      .condition(condition::kWorkloadAdmitted, Truth::True, "ClusterlessAdmitted",
                 text::kClusterlessBypass)
      .into(plan);
  return plan;
}

Plan queue_up(const Tick& tick) {
  WorkloadEnsured workload = ensure_workload(tick);
  if (workload.missing_priority) {
    const std::string message = fmt::format(text::kNoPriorityClass, tick.job.spec().priority);
    return fail(tick, "WorkloadFailed", message);
  }
  Ensured& ensured = workload.ensured;
  if (ensured.state == Ensured::State::Refused) {
    return fail(tick, "WorkloadFailed", fmt::format(text::kCreateWorkload, ensured.reason),
                fmt::format(text::kWorkloadFailed, ensured.reason));
  }
  Plan plan = std::move(ensured.steps);
  if (ensured.state == Ensured::State::Ready) {
    StatusWrite(tick)
        .enter(phase::kPending, text::kWorkloadCreated)
        .condition(condition::kResolved, Truth::True, "Resolved", text::kResolved)
        .condition(condition::kWorkloadAdmitted, Truth::False, "Pending", text::kWorkloadCreated)
        .into(plan);
  }
  return plan;
}

Plan resolved(const Tick& tick) {
  if (tick.job.wants_gpus()) {
    if (const auto obstacle = check_gpu_type(tick)) {
      if (obstacle->waiting) {
        return await_answer(tick);
      }
      return obstacle->retry ? Plan::retry(*obstacle->retry)
                             : fail(tick, "InvalidGPUType", obstacle->message, obstacle->condition);
    }
  }
  const RefsChecked refs = check_secret_refs(tick);
  if (!refs.known) {
    return await_answer(tick);
  }
  if (!refs.bad.empty()) {
    return fail(tick, kBadSecretRef, refs.bad);
  }
  return tick.job.clusterless ? enter_clusterless(tick) : queue_up(tick);
}

}  // namespace

Plan resolve(const Tick& tick) {
  const Child resolve_job = child_of(tick, api::kJob, resolve_job_name(tick.job));
  if (!resolve_job.known) {
    return await_answer(tick);
  }
  if (!resolve_job.ours()) {
    auto waiting = await_kinds(tick);
    return waiting ? *std::move(waiting) : start(tick);
  }
  const Value& conditions = resolve_job.object.status()["conditions"];
  const Value& failed = find_condition(conditions, "Failed");
  if (failed["status"].as_string() == "True") {
    const std::string_view said = failed["message"].as_string();
    const std::string_view why = said.empty() ? text::kResolveJobFailed : said;
    return fail(tick, "Failed", fmt::format(text::kResolutionFailed, why), why);
  }
  if (condition_is(conditions, "Complete", "True")) {
    auto waiting = await_kinds(tick);
    return waiting ? *std::move(waiting) : resolved(tick);
  }
  Plan plan;
  if (resolve_job.asked) {
    plan.wake_at(tick.now + kResolvePoll);
  }
  return plan;
}

}  // namespace athanor::fournos
