// SPDX-License-Identifier: Apache-2.0
// From a PipelineRun to the pipeline it runs: the checks of docs/spec/tekton.md 7.2 in their order,
// then substitution.
#pragma once

#include <map>
#include <string>

#include "base/result.hpp"
#include "embedded/tekton/model/settings.hpp"
#include "embedded/tekton/model/substitute.hpp"
#include "kube/value/object.hpp"
#include "kube/value/value.hpp"
#include "runtime/view/view.hpp"

namespace athanor::tekton {

// What ends a run before it starts.
struct Refusal {
  std::string reason{};
  std::string message{};
  bool awaiting = false;  // it does not end the run: a definition is on its way
};

// The pipeline that a run is to run.
struct ResolvedPipeline {
  Value spec{};    // with params, contexts and workspaces substituted
  Value labels{};  // of the Pipeline
  Value annotations{};
  Value source{};  // refSource of the provenance
};

// Returns what a run says while a definition is on its way.
Refusal awaited_refusal(std::string reason, const Object& run);
// Finds, checks and substitutes the pipeline of a run.
Result<ResolvedPipeline, Refusal> resolve_pipeline(const View& view, const Object& run);

// Returns the name in label tekton.dev/pipeline (7.1).
std::string pipeline_label(const Object& run);
// Returns the name in messages: the Pipeline's, or the run's own when the pipeline is inline.
std::string pipeline_name(const Object& run);

// Returns the pipeline with everything replaced that is known before a task runs: its
// pipeline_variables().
Value substituted_pipeline(const Value& spec, const Replacements& variables);
// Returns the variables of a pipeline that are known from the start, stage by stage.
Replacements pipeline_variables(const Value& spec, const std::map<std::string, Value>& values,
                                const Object& run);
// Params of a pipeline task, and those its inline spec declares and the run's values give.
Value task_params(const Value& pipeline_task, const std::map<std::string, Value>& values);

}  // namespace athanor::tekton
