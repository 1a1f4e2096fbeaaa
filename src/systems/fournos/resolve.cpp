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
#include "systems/fournos/phases.hpp"
#include "systems/fournos/secrets.hpp"
#include "systems/fournos/status_write.hpp"

namespace athanor::fournos {
namespace {

// How often a resolve Job is read that cannot be watched.
constexpr Duration kResolvePoll = std::chrono::seconds(10);

Plan fail(const Context& context, std::string_view reason, std::string_view message,
          std::string_view condition = {}) {
  Plan plan;
  StatusWrite(context)
      .enter(phase::kFailed, message)
      .condition(condition::kResolved, Truth::False, reason,
                 condition.empty() ? message : condition)
      .into(plan);
  return plan;
}

Plan start(const Context& context) {
  const std::string& pipeline_name = context.job.spec().pipeline;
  const Confirmed found =
      read_confirmed(context, api::kPipeline, {context.job.ns(), pipeline_name});
  const bool denied = found.error && is_refusal(*found.error);
  if (!found.known && !denied) {
    return await_answer(context);
  }
  const std::optional<Object>& pipeline = found.object;
  if (!pipeline) {
    const int code = denied ? found.error->code : 404;
    return fail(context, "PipelineNotFound",
                fmt::format(text::kFetchPipeline, pipeline_name, http_reason(code)));
  }
  const std::string_view image = pipeline->annotation(name::kResolveImage);
  if (image.empty()) {
    return fail(context, "MissingResolveImage", fmt::format(text::kNoResolveImage, pipeline_name));
  }
  Ensured resolve_job = ensure(context, api::kJob, resolve_job_object(context, image));
  if (resolve_job.state == Ensured::State::Refused) {
    return fail(context, "CreateFailed", fmt::format(text::kCreateResolve, resolve_job.reason));
  }
  Plan plan = std::move(resolve_job.steps);
  if (resolve_job.state == Ensured::State::Ready) {
    StatusWrite(context)
        .message(text::kResolving)
        .condition(condition::kResolved, Truth::False, "Resolving", text::kResolveStarted)
        .into(plan);
  }
  return plan;
}

Plan enter_clusterless(const Context& context) {
  Plan plan;
  StatusWrite(context)
      .enter(phase::kAdmitted, text::kClusterlessReady)
      .set("cluster", name::kClusterless)
      .condition(condition::kResolved, Truth::True, "Resolved", text::kResolved)
      .condition(condition::kWorkloadAdmitted, Truth::True, "ClusterlessAdmitted",
                 text::kClusterlessBypass)
      .into(plan);
  return plan;
}

Plan queue_up(const Context& context) {
  WorkloadEnsured workload = ensure_workload(context);
  if (workload.missing_priority) {
    const std::string message = fmt::format(text::kNoPriorityClass, context.job.spec().priority);
    return fail(context, "WorkloadFailed", message);
  }
  Ensured& ensured = workload.ensured;
  if (ensured.state == Ensured::State::Refused) {
    return fail(context, "WorkloadFailed", fmt::format(text::kCreateWorkload, ensured.reason),
                fmt::format(text::kWorkloadFailed, ensured.reason));
  }
  Plan plan = std::move(ensured.steps);
  if (ensured.state == Ensured::State::Ready) {
    StatusWrite(context)
        .enter(phase::kPending, text::kWorkloadCreated)
        .condition(condition::kResolved, Truth::True, "Resolved", text::kResolved)
        .condition(condition::kWorkloadAdmitted, Truth::False, "Pending", text::kWorkloadCreated)
        .into(plan);
  }
  return plan;
}

Plan resolved(const Context& context) {
  if (context.job.wants_gpus()) {
    if (const auto obstacle = check_gpu_type(context)) {
      if (obstacle->waiting) {
        return await_answer(context);
      }
      return obstacle->retry
                 ? Plan::retry(*obstacle->retry)
                 : fail(context, "InvalidGPUType", obstacle->message, obstacle->condition);
    }
  }
  const RefsChecked refs = check_secret_refs(context);
  if (!refs.known) {
    return await_answer(context);
  }
  if (!refs.bad.empty()) {
    return fail(context, kBadSecretRef, refs.bad);
  }
  return context.job.clusterless ? enter_clusterless(context) : queue_up(context);
}

}  // namespace

Plan resolve(const Context& context) {
  const Child resolve_job = child_of(context, api::kJob, resolve_job_name(context.job));
  if (!resolve_job.known) {
    return await_answer(context);
  }
  if (!resolve_job.ours()) {
    auto waiting = await_kinds(context);
    return waiting ? *std::move(waiting) : start(context);
  }
  const Value& conditions = resolve_job.object.status()["conditions"];
  const Value& failed = find_condition(conditions, "Failed");
  if (failed["status"].as_string() == "True") {
    const std::string_view said = failed["message"].as_string();
    const std::string_view why = said.empty() ? text::kResolveJobFailed : said;
    return fail(context, "Failed", fmt::format(text::kResolutionFailed, why), why);
  }
  if (condition_is(conditions, "Complete", "True")) {
    auto waiting = await_kinds(context);
    return waiting ? *std::move(waiting) : resolved(context);
  }
  Plan plan;
  if (resolve_job.asked) {
    plan.wake_at(context.now + kResolvePoll);
  }
  return plan;
}

}  // namespace athanor::fournos
