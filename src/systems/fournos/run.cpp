// SPDX-License-Identifier: Apache-2.0
// Admitted and Running: the PipelineRun's life (docs/spec/fournos.md sections 9 and 10).
#include <fmt/format.h>

#include "api/tekton.hpp"
#include "runtime/view/live.hpp"
#include "systems/fournos/desired.hpp"
#include "systems/fournos/kinds/fournos_job.hpp"
#include "systems/fournos/messages.hpp"
#include "systems/fournos/phase.hpp"
#include "systems/fournos/phases.hpp"
#include "systems/fournos/secrets.hpp"

namespace athanor::fournos {
namespace {

// Returns the run's page on the dashboard (docs/spec/fournos.md R9.1); empty without a base.
std::string dashboard_url(const Tick& tick) {
  std::string base = tick.settings.dashboard_url;
  base.erase(base.find_last_not_of('/') + 1);
  return base.empty() ? base
                      : fmt::format("{}/#/namespaces/{}/pipelineruns/{}", base, tick.job.ns(),
                                    tick.job.name());
}

Plan fail_start(const Tick& tick, std::string_view reason, const std::string& message) {
  Plan plan = release_workload(tick);
  StatusWrite(tick)
      .enter(phase::kFailed, message)
      .condition(condition::kPipelineRunReady, Truth::False, reason, message)
      .into(plan);
  return plan;
}

Plan enter_running(const Tick& tick, Plan plan) {
  StatusWrite status(tick);
  status.enter(phase::kRunning, text::kRunCreated)
      .set("pipelineRun", tick.job.name())
      .condition(condition::kPipelineRunReady, Truth::Unknown, "Started", text::kRunStarted);
  if (const std::string url = dashboard_url(tick); !url.empty()) {
    status.set("dashboardURL", url);
  }
  status.into(plan);
  mark_pods_ready(tick, plan);
  return plan;
}

Plan hold_lock(const Tick& tick) {
  const Job& job = tick.job;
  const std::string& cluster =
      job.status().cluster.empty() ? job.spec().cluster : job.status().cluster;
  const std::string message = fmt::format(text::kLockHeld, cluster);
  Plan plan;
  if (message != job.status().message) {
    StatusWrite(tick).message(message).into(plan);
  }
  mark_pods_ready(tick, plan);
  return plan;
}

// Whether the job is still as the view has it; nothing: not known yet. A run is made without
// any precondition, and the view may be of before the job's deletion or eviction: it would run
// twice.
std::optional<bool> still_so(const Tick& tick) {
  const Object& seen = tick.job.object();
  const Live live =
      read_live(tick.view, api::kFournosJob, seen.key(), tick.now, seen.resource_version());
  if (!live.known) {
    return std::nullopt;
  }
  if (live.objects.empty()) {
    return false;
  }
  const Object& job = live.objects.front();
  return job.uid() == seen.uid() && !job.deleting() &&
         job.status()["phase"] == seen.status()["phase"] &&
         job.status()["evictions"] == seen.status()["evictions"];
}

Plan make_run(const Tick& tick) {
  if (auto waiting = await_kinds(tick)) {
    return *std::move(waiting);
  }
  if (!still_so(tick).value_or(false)) {
    return await_answer(tick);
  }
  SecretsReady secrets = copy_secrets(tick);
  if (!secrets.failure.empty()) {
    return fail_start(tick, secrets.reason, secrets.failure);
  }
  if (secrets.waiting) {
    return std::move(secrets.steps);
  }
  const Sure pipeline =
      seen_or_asked(tick, api::kPipeline, {tick.job.ns(), tick.job.spec().pipeline});
  if (!pipeline.known) {
    return await_answer(tick);
  }
  Ensured run =
      ensure(tick, api::kPipelineRun, pipeline_run_object(tick, pipeline.object, secrets.mounts));
  if (run.state == Ensured::State::Refused) {
    return fail_start(tick, "CreateFailed", fmt::format(text::kCreateRun, run.reason));
  }
  Plan plan = std::move(secrets.steps);
  plan.merge(std::move(run.steps));
  if (run.state == Ensured::State::Waiting) {
    return plan;
  }
  return enter_running(tick, std::move(plan));
}

Plan lose_run(const Tick& tick) {
  Plan plan = release_workload(tick);
  StatusWrite(tick)
      .enter(phase::kFailed, text::kRunNotFound)
      .condition(condition::kPipelineRunReady, Truth::False, "NotFound",
                 fmt::format(text::kRunNotFoundLong, tick.job.name()))
      .into(plan);
  return plan;
}

}  // namespace

Plan finish_run(const Tick& tick, const RunState& run) {
  Plan plan = release_workload(tick);
  StatusWrite status(tick);
  if (run.succeeded) {
    status.enter(phase::kSucceeded, text::kSucceeded)
        .condition(condition::kPipelineRunReady, Truth::True, "Succeeded",
                   run.message.empty() ? text::kSucceeded : std::string_view(run.message));
  } else {
    const std::string_view message =
        run.message.empty() ? text::kRunFailed : std::string_view(run.message);
    status.enter(phase::kFailed, message)
        .condition(condition::kPipelineRunReady, Truth::False, "Failed", message);
  }
  status.into(plan);
  return plan;
}

Plan start_run(const Tick& tick) {
  const Child run = tick.job.lock_only ? Child{} : pipeline_run_of(tick);
  if (auto evicted =
          handle_eviction(tick, tick.job.clusterless ? Child{} : workload_of(tick), run)) {
    return *std::move(evicted);
  }
  if (tick.job.lock_only) {
    return hold_lock(tick);
  }
  if (run.ours() && !run.object.deleting()) {
    return enter_running(tick, {});
  }
  return make_run(tick);
}

Plan watch_run(const Tick& tick) {
  const Child run = pipeline_run_of(tick);
  if (auto evicted =
          handle_eviction(tick, tick.job.clusterless ? Child{} : workload_of(tick), run)) {
    return *std::move(evicted);
  }
  if (!run.ours()) {
    if (auto waiting = await_kinds(tick)) {
      return *std::move(waiting);
    }
    return gone_for_good(tick, run.ref) ? lose_run(tick) : await_answer(tick);
  }
  const RunState state = run_state(run.object);
  if (state.done()) {
    return finish_run(tick, state);
  }
  const std::string message = state.message.empty()
                                  ? std::string(text::kRunning)
                                  : fmt::format(text::kRunningWith, state.message);
  Plan plan;
  if (message != tick.job.status().message) {
    StatusWrite(tick)
        .message(message)
        .condition(condition::kPipelineRunReady, Truth::Unknown, "Running",
                   state.message.empty() ? text::kExecuting : std::string_view(state.message))
        .into(plan);
  }
  mark_pods_ready(tick, plan);
  return plan;
}

}  // namespace athanor::fournos
