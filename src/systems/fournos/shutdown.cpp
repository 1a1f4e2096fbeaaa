// SPDX-License-Identifier: Apache-2.0
// spec.shutdown: ending a job on request (docs/spec/fournos.md section 11).
#include <fmt/format.h>

#include "api/builtin.hpp"
#include "kube/value/condition.hpp"
#include "systems/fournos/desired.hpp"
#include "systems/fournos/messages.hpp"
#include "systems/fournos/phases.hpp"
#include "systems/fournos/status_write.hpp"

namespace athanor::fournos {
namespace {

constexpr std::string_view kGraceful = "CancelledRunFinally";
constexpr std::string_view kAtOnce = "Cancelled";

Plan request_cancel(const Context& context, const Child& run) {
  const bool graceful = context.job.spec().shutdown == "Stop";
  Value merge = Value::object();
  merge.set_path({"spec", "status"}, graceful ? kGraceful : kAtOnce);
  Plan plan;
  plan.then(Patch{.target = run.ref,
                  .merge = std::move(merge),
                  .guard = {.uid = std::string(run.object.uid())}});
  StatusWrite(context)
      .enter(phase::kStopping, graceful ? text::kStopRequested : text::kTerminateRequested)
      .condition(condition::kPipelineRunReady, Truth::False, "Stopping",
                 graceful ? text::kCancelGraceful : text::kCancelAtOnce)
      .into(plan);
  return plan;
}

// docs/spec/fournos.md R6.5: an abandoned resolution; nullopt: not known yet
// whether there is one.
std::optional<Plan> drop_resolution(const Context& context) {
  Plan plan;
  if (context.job.status().phase == phase::kResolving) {
    const Child resolve_job = child_of(context, api::kJob, resolve_job_name(context.job));
    if (!resolve_job.known) {
      return std::nullopt;
    }
    const Value& conditions = resolve_job.object.status()["conditions"];
    if (resolve_job.ours() && !condition_is(conditions, "Complete", "True") &&
        !condition_is(conditions, "Failed", "True")) {
      remove_if_allowed(context, plan, resolve_job);
    }
  }
  return plan;
}

Plan stop_at_once(const Context& context) {
  auto resolution = drop_resolution(context);
  if (!resolution) {
    return await_answer(context);
  }
  Plan plan = release_workload(context);
  plan.merge(*std::move(resolution));
  StatusWrite(context)
      .enter(phase::kStopped, text::kStoppedByUser)
      .condition(condition::kWorkloadAdmitted, Truth::False, "Stopped", text::kStoppedByUser)
      .into(plan);
  return plan;
}

Plan stopped(const Context& context, std::string_view run_text) {
  Plan plan = release_workload(context);
  StatusWrite(context)
      .enter(phase::kStopped, text::kStoppedByUser)
      .condition(condition::kWorkloadAdmitted, Truth::False, "Stopped", text::kStoppedByUser)
      .condition(condition::kPipelineRunReady, Truth::False, "Stopped",
                 run_text.empty() ? text::kStoppedByUser : run_text)
      .into(plan);
  return plan;
}

}  // namespace

Plan begin_shutdown(const Context& context) {
  const std::string& phase = context.job.status().phase;
  if (context.job.lock_only || (phase != phase::kAdmitted && phase != phase::kRunning)) {
    return stop_at_once(context);
  }
  const Child run = pipeline_run_of(context);
  if (!run.ours()) {
    return gone_for_good(context, run.ref) ? stop_at_once(context) : await_answer(context);
  }
  const RunState state = run_state(run.object);
  // Tekton refuses to cancel what is over: the job ends as its run did (11.2).
  return state.done() ? finish_run(context, state) : request_cancel(context, run);
}

Plan finish_shutdown(const Context& context) {
  const Child run = pipeline_run_of(context);
  if (!run.ours()) {
    return gone_for_good(context, run.ref) ? stopped(context, text::kRunNotFound)
                                           : await_answer(context);
  }
  const RunState state = run_state(run.object);
  if (state.done()) {
    return stopped(context, state.message);
  }
  if (context.job.spec().shutdown == "Terminate" &&
      run.object.spec()["status"].as_string() == kGraceful) {
    return request_cancel(context, run);
  }
  const std::string message = state.message.empty()
                                  ? std::string(text::kStopping)
                                  : fmt::format(text::kStoppingWith, state.message);
  Plan plan;
  if (message != context.job.status().message) {
    StatusWrite(context).message(message).into(plan);
  }
  return plan;
}

}  // namespace athanor::fournos
