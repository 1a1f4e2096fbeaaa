// SPDX-License-Identifier: Apache-2.0
// A PipelineRun's status from the states of its tasks (docs/spec/tekton.md 3.2, 7.5).
#pragma once

#include <string>

#include "base/result.hpp"
#include "embedded/tekton/pipelinerun/pipelinerun_facts.hpp"
#include "embedded/tekton/runs.hpp"

namespace athanor::tekton {

// Numbers of tasks by state; those skipped by a timeout count in `skipped`, too.
struct TaskCounts {
  int succeeded = 0, failed = 0, ignored = 0, cancelled = 0, skipped = 0, skipped_by_timeout = 0,
      invalid = 0, incomplete = 0;
};
// Counts the tasks; one that timed out has failed.
TaskCounts count_tasks(const RunFacts& facts);

// Condition Succeeded while running and at the end.
Outcome run_outcome(const Object& run, const RunFacts& facts, const Settings& settings);
// `PipelineRun "<n>" was cancelled`.
Outcome cancelled_outcome(const Object& run);

// Returns status.skippedTasks.
Value skipped_tasks(const RunFacts& facts);
// The references there are, followed by those of TaskRuns that none names yet.
Value child_references(const Object& run, const RunFacts& facts);
// Returns one of status.childReferences.
Value child_reference(const TaskState& task, std::string_view task_run_name);

// status.results. Error: `invalid pipelineresults [<r>], the referenced results don't exist`.
Result<Value> pipeline_results(const Value& pipeline, const RunFacts& facts,
                               const Settings& settings);

// "<task>/<step>: <message>" of the first failed task, or empty (17).
std::string first_failure(const RunFacts& facts);

}  // namespace athanor::tekton
