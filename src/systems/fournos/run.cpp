// SPDX-License-Identifier: Apache-2.0
// Admitted and Running: the PipelineRun's life (docs/spec/fournos.md sections 9 and 10).
#include <fmt/format.h>

#include "api/tekton.hpp"
#include "runtime/view/live.hpp"
#include "systems/fournos/cluster_state.hpp"
#include "systems/fournos/desired.hpp"
#include "systems/fournos/kinds/fournos_job.hpp"
#include "systems/fournos/messages.hpp"
#include "systems/fournos/phases.hpp"
#include "systems/fournos/secrets.hpp"
#include "systems/fournos/status_write.hpp"

namespace athanor::fournos {
namespace {

// Returns the run's page on the dashboard (docs/spec/fournos.md R9.1); empty without a base.
std::string dashboard_url(const Context& context) {
  std::string base = context.settings.dashboard_url;
  base.erase(base.find_last_not_of('/') + 1);
  return base.empty() ? base
                      : fmt::format("{}/#/namespaces/{}/pipelineruns/{}", base, context.job.ns(),
                                    context.job.name());
}

Plan fail_start(const Context& context, std::string_view reason, const std::string& message) {
  Plan plan = release_workload(context);
  StatusWrite(context)
      .enter(phase::kFailed, message)
      .condition(condition::kPipelineRunReady, Truth::False, reason, message)
      .into(plan);
  return plan;
}

Plan enter_running(const Context& context, Plan plan) {
  StatusWrite status(context);
  status.enter(phase::kRunning, text::kRunCreated)
      .set("pipelineRun", context.job.name())
      .condition(condition::kPipelineRunReady, Truth::Unknown, "Started", text::kRunStarted);
  if (const std::string url = dashboard_url(context); !url.empty()) {
    status.set("dashboardURL", url);
  }
  status.into(plan);
  mark_pods_ready(context, plan);
  return plan;
}

Plan hold_lock(const Context& context) {
  const Job& job = context.job;
  const std::string& cluster =
      job.status().cluster.empty() ? job.spec().cluster : job.status().cluster;
  const std::string message = fmt::format(text::kLockHeld, cluster);
  Plan plan;
  if (message != job.status().message) {
    StatusWrite(context).message(message).into(plan);
  }
  mark_pods_ready(context, plan);
  return plan;
}

// Whether the job is still as the view has it; nothing: not known yet. A run is made without
// any precondition, and the view may be of before the job's deletion or eviction: it would run
// twice.
std::optional<bool> is_unchanged(const Context& context) {
  const Object& seen = context.job.object();
  const Live live =
      read_live(context.view, api::kFournosJob, seen.key(), context.now, seen.resource_version());
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

// A run on a cluster that does not answer would fail: the job keeps its place and waits. A change
// of the FournosCluster runs it again. nullopt: nothing speaks against the run.
std::optional<Plan> await_cluster(const Context& context) {
  const std::string& name = context.job.status().cluster;
  if (context.job.clusterless || name.empty()) {
    return std::nullopt;
  }
  const auto cluster = cluster_of_hearth(context, name);
  const std::string message = cluster ? unreachable_text(*cluster) : std::string();
  if (message.empty()) {
    return std::nullopt;
  }
  Plan plan;
  if (message != context.job.status().message) {
    StatusWrite(context)
        .message(message)
        .condition(condition::kPipelineRunReady, Truth::False, "ClusterUnreachable", message)
        .into(plan);
  }
  return plan;
}

Plan make_run(const Context& context) {
  if (auto waiting = await_kinds(context)) {
    return *std::move(waiting);
  }
  if (!is_unchanged(context).value_or(false)) {
    return await_answer(context);
  }
  SecretsReady secrets = copy_secrets(context);
  if (!secrets.failure.empty()) {
    return fail_start(context, secrets.reason, secrets.failure);
  }
  if (secrets.waiting) {
    return std::move(secrets.steps);
  }
  const Confirmed pipeline =
      cached_or_confirmed(context, api::kPipeline, {context.job.ns(), context.job.spec().pipeline});
  if (!pipeline.known) {
    return await_answer(context);
  }
  Ensured run = ensure(context, api::kPipelineRun,
                       pipeline_run_object(context, pipeline.object, secrets.mounts));
  if (run.state == Ensured::State::Refused) {
    return fail_start(context, "CreateFailed", fmt::format(text::kCreateRun, run.reason));
  }
  Plan plan = std::move(secrets.steps);
  plan.merge(std::move(run.steps));
  if (run.state == Ensured::State::Waiting) {
    return plan;
  }
  return enter_running(context, std::move(plan));
}

Plan lose_run(const Context& context) {
  Plan plan = release_workload(context);
  StatusWrite(context)
      .enter(phase::kFailed, text::kRunNotFound)
      .condition(condition::kPipelineRunReady, Truth::False, "NotFound",
                 fmt::format(text::kRunNotFoundLong, context.job.name()))
      .into(plan);
  return plan;
}

}  // namespace

Plan finish_run(const Context& context, const RunState& run) {
  Plan plan = release_workload(context);
  StatusWrite status(context);
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

Plan start_run(const Context& context) {
  const Child run = context.job.lock_only ? Child{} : pipeline_run_of(context);
  if (auto evicted =
          handle_eviction(context, context.job.clusterless ? Child{} : workload_of(context), run)) {
    return *std::move(evicted);
  }
  if (context.job.lock_only) {
    return hold_lock(context);
  }
  if (run.ours() && !run.object.deleting()) {
    return enter_running(context, {});
  }
  if (auto waiting = await_cluster(context)) {
    return *std::move(waiting);
  }
  return make_run(context);
}

Plan watch_run(const Context& context) {
  const Child run = pipeline_run_of(context);
  if (auto evicted =
          handle_eviction(context, context.job.clusterless ? Child{} : workload_of(context), run)) {
    return *std::move(evicted);
  }
  if (!run.ours()) {
    if (auto waiting = await_kinds(context)) {
      return *std::move(waiting);
    }
    return gone_for_good(context, run.ref) ? lose_run(context) : await_answer(context);
  }
  const RunState state = run_state(run.object);
  if (state.done()) {
    return finish_run(context, state);
  }
  const std::string message = state.message.empty()
                                  ? std::string(text::kRunning)
                                  : fmt::format(text::kRunningWith, state.message);
  Plan plan;
  if (message != context.job.status().message) {
    StatusWrite(context)
        .message(message)
        .condition(condition::kPipelineRunReady, Truth::Unknown, "Running",
                   state.message.empty() ? text::kExecuting : std::string_view(state.message))
        .into(plan);
  }
  mark_pods_ready(context, plan);
  return plan;
}

}  // namespace athanor::fournos
