// SPDX-License-Identifier: Apache-2.0
// spec.shutdown: ending a job on request (docs/spec/fournos.md section 11).
#include <fmt/format.h>

#include "api/builtin.hpp"
#include "kube/value/condition.hpp"
#include "systems/fournos/desired.hpp"
#include "systems/fournos/messages.hpp"
#include "systems/fournos/phase.hpp"
#include "systems/fournos/phases.hpp"

namespace athanor::fournos {
namespace {

constexpr std::string_view kGraceful = "CancelledRunFinally";
constexpr std::string_view kAtOnce = "Cancelled";

Plan request_cancel(const Tick& tick, const Child& run) {
  const bool graceful = tick.job.spec().shutdown == "Stop";
  Value merge = Value::object();
  merge.set_path({"spec", "status"}, graceful ? kGraceful : kAtOnce);
  Plan plan;
  plan.then(Patch{.target = run.ref,
                  .merge = std::move(merge),
                  .guard = {.uid = std::string(run.object.uid())}});
  StatusWrite(tick)
      .enter(phase::kStopping, graceful ? text::kStopRequested : text::kTerminateRequested)
      .condition(condition::kPipelineRunReady, Truth::False, "Stopping",
                 graceful ? text::kCancelGraceful : text::kCancelAtOnce)
      .into(plan);
  return plan;
}

// docs/spec/fournos.md R6.5: an abandoned resolution; nullopt: not known yet
// whether there is one.
std::optional<Plan> drop_resolution(const Tick& tick) {
  Plan plan;
  if (tick.job.status().phase == phase::kResolving) {
    const Child resolve_job = child_of(tick, api::kJob, resolve_job_name(tick.job));
    if (!resolve_job.known) {
      return std::nullopt;
    }
    const Value& conditions = resolve_job.object.status()["conditions"];
    if (resolve_job.ours() && !condition_is(conditions, "Complete", "True") &&
        !condition_is(conditions, "Failed", "True")) {
      remove_if_allowed(tick, plan, resolve_job);
    }
  }
  return plan;
}

Plan stop_at_once(const Tick& tick) {
  auto resolution = drop_resolution(tick);
  if (!resolution) {
    return await_answer(tick);
  }
  Plan plan = release_workload(tick);
  plan.merge(*std::move(resolution));
  StatusWrite(tick)
      .enter(phase::kStopped, text::kStoppedByUser)
      .condition(condition::kWorkloadAdmitted, Truth::False, "Stopped", text::kStoppedByUser)
      .into(plan);
  return plan;
}

Plan stopped(const Tick& tick, std::string_view run_text) {
  Plan plan = release_workload(tick);
  StatusWrite(tick)
      .enter(phase::kStopped, text::kStoppedByUser)
      .condition(condition::kWorkloadAdmitted, Truth::False, "Stopped", text::kStoppedByUser)
      .condition(condition::kPipelineRunReady, Truth::False, "Stopped",
                 run_text.empty() ? text::kStoppedByUser : run_text)
      .into(plan);
  return plan;
}

}  // namespace

Plan begin_shutdown(const Tick& tick) {
  const std::string& phase = tick.job.status().phase;
  if (tick.job.lock_only || (phase != phase::kAdmitted && phase != phase::kRunning)) {
    return stop_at_once(tick);
  }
  const Child run = pipeline_run_of(tick);
  if (!run.ours()) {
    return gone_for_good(tick, run.ref) ? stop_at_once(tick) : await_answer(tick);
  }
  const RunState state = run_state(run.object);
  // Tekton refuses to cancel what is over: the job ends as its run did (11.2).
  return state.done() ? finish_run(tick, state) : request_cancel(tick, run);
}

Plan finish_shutdown(const Tick& tick) {
  const Child run = pipeline_run_of(tick);
  if (!run.ours()) {
    return gone_for_good(tick, run.ref) ? stopped(tick, text::kRunNotFound) : await_answer(tick);
  }
  const RunState state = run_state(run.object);
  if (state.done()) {
    return stopped(tick, state.message);
  }
  if (tick.job.spec().shutdown == "Terminate" &&
      run.object.spec()["status"].as_string() == kGraceful) {
    return request_cancel(tick, run);
  }
  const std::string message = state.message.empty()
                                  ? std::string(text::kStopping)
                                  : fmt::format(text::kStoppingWith, state.message);
  Plan plan;
  if (message != tick.job.status().message) {
    StatusWrite(tick).message(message).into(plan);
  }
  return plan;
}

}  // namespace athanor::fournos
