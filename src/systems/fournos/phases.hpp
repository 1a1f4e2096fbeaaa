// SPDX-License-Identifier: Apache-2.0
// One function a phase (docs/spec/fournos.md section 4): from what the view shows to the next
// steps.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "runtime/view/plan.hpp"
#include "systems/fournos/children.hpp"
#include "systems/fournos/job.hpp"
#include "systems/fournos/settings.hpp"

namespace athanor::fournos {

// Reconciles a job of the namespace that the settings name as that of jobs.
Plan reconcile_job(const View& view, const Key& key, const Settings& settings, Instant now);

// Returns the plan, or one that only waits while the job has not stayed in its phase for the least
// time that the settings ask for. A plan that keeps the phase passes.
Plan hold_phase(const Context& context, Plan plan);

// Handles the empty phase, and Scheduled until its time has come (section 5, 13, 19).
Plan create(const Context& context);
// Makes the children of a job with spec.schedule (19). Handles phase Recurring, too.
Plan recur(const Context& context);
// Finds out what an engine job runs (docs/spec/fournos.md 6).
Plan resolve(const Context& context);
// Waits for quota and says what for (8.1, 8.2).
Plan await_admission(const Context& context);
// Makes the PipelineRun (9).
Plan start_run(const Context& context);
// Follows the PipelineRun to its end (10).
Plan watch_run(const Context& context);
// Returns the plan when the Workload is evicted (8.4), else nullopt.
std::optional<Plan> handle_eviction(const Context& context, const Child& workload,
                                    const Child& run);
// Adds PodsReady=True to the Workload of a job whose run exists, or of a lock that is held: Kueue
// evicts an admitted Workload that does not get it in time, and no other controller writes it on a
// Workload without a Kueue job (docs/spec/kueue.md 8.5).
void mark_pods_ready(const Context& context, Plan& plan);
// Ends a job on request (11.2, 11.3).
Plan begin_shutdown(const Context& context);
Plan finish_shutdown(const Context& context);

// Deletes the Workload first, so that a terminal phase never leaves quota behind (R10.1).
Plan release_workload(const Context& context);
// Ends a finished run: Succeeded or Failed (section 10).
Plan finish_run(const Context& context, const RunState& run);

// Returns the plan while the cluster lacks a kind that the job needs (its CRD is not installed),
// else nullopt. Called before decisions that a missing kind's empty view would make wrong.
std::optional<Plan> await_kinds(const Context& context);

// Returns the plan at the end of a lock that has one (19), else nullopt.
std::optional<Plan> expire_lock(const Context& context);

// What keeps a job from going on for good, or an error that passes.
struct Obstacle {
  std::string message{};    // status.message of the Failed job
  std::string condition{};  // message of Resolved=False where it differs
  std::optional<Error> retry{};
  bool waiting = false;  // for an answer (await_answer)
};
// Checks R5.1, R6.1: some ClusterQueue covers the GPU type.
std::optional<Obstacle> check_gpu_type(const Context& context);

}  // namespace athanor::fournos
