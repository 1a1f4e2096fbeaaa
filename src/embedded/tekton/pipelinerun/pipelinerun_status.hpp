// SPDX-License-Identifier: Apache-2.0
// A PipelineRun's status from the states of its tasks (docs/spec/tekton.md 3.2, 7.5).
#pragma once

#include <string>

#include "base/result.hpp"
#include "embedded/tekton/model/runs.hpp"
#include "embedded/tekton/pipelinerun/pipelinerun_facts.hpp"

namespace athanor::tekton {

// Numbers of tasks by state; those skipped by a timeout count in `skipped`, too.
struct TaskCounts {
  int succeeded = 0, failed = 0, ignored = 0, cancelled = 0, skipped = 0, skipped_by_timeout = 0,
      invalid = 0, incomplete = 0;
};
// Counts the tasks; one that timed out has failed.
TaskCounts count_tasks(const RunFacts& facts);

// Returns condition Succeeded while the run runs and at its end.
Outcome run_outcome(const Object& run, const RunFacts& facts, const Settings& settings);
// Returns the outcome with the message `PipelineRun "<n>" was cancelled`.
Outcome cancelled_outcome(const Object& run);

// Returns status.skippedTasks.
Value skipped_tasks(const RunFacts& facts);
// Returns the present child references but that to `foreign`, followed by those of TaskRuns that
// are not listed yet.
Value child_references(const Object& run, const RunFacts& facts, std::string_view foreign);
// Returns one of status.childReferences; its displayName may hold results and the TaskRun's params.
Value child_reference(const RunFacts& facts, const TaskState& task, const Value& task_run);

// Reads status.results. Error: `invalid pipelineresults [<r>], the referenced results don't exist`.
Result<Value> pipeline_results(const Value& pipeline, const RunFacts& facts,
                               const Settings& settings);

// Returns "<task>/<step>: <message>" of the first failed task, or an empty text (17).
std::string first_failure(const RunFacts& facts);

}  // namespace athanor::tekton
