// SPDX-License-Identifier: Apache-2.0
// The TaskRuns of a PipelineRun (docs/spec/tekton.md 7.4, 8.6, 9, 10.5).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "embedded/tekton/pipelinerun/pipelinerun_facts.hpp"
#include "kube/value/object.hpp"
#include "kube/value/value.hpp"

namespace athanor::tekton {

// What the TaskRuns of a run take from it.
struct RunContext {
  const Object& run;
  Value labels{};  // of the run, with those of its Pipeline
  Value annotations{};
  const std::map<std::string, Value>& values;  // of the run's params
  Replacements variables{};                    // of the pipeline
  const Settings& settings;
};

// Returns the TaskRuns to create for a task that may start, with other tasks' results substituted.
std::vector<Value> make_task_runs(const RunContext& context, const RunFacts& facts,
                                  const TaskState& task);

}  // namespace athanor::tekton
