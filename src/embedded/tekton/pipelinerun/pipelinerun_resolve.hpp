// SPDX-License-Identifier: Apache-2.0
// From a PipelineRun to the pipeline it runs: the checks of docs/spec/tekton.md 7.2 in their order,
// then substitution.
#pragma once

#include <map>
#include <string>

#include "base/result.hpp"
#include "embedded/tekton/settings.hpp"
#include "kube/value/object.hpp"
#include "kube/value/value.hpp"
#include "runtime/view/view.hpp"

namespace athanor::tekton {

// What ends a run before it starts.
struct Refusal {
  std::string reason{};
  std::string message{};
};

// The pipeline that a run is to run.
struct ResolvedPipeline {
  Value spec{};    // with params, contexts and workspaces substituted
  Value labels{};  // of the Pipeline
  Value annotations{};
};

// Finds, checks and substitutes the pipeline of a run.
Result<ResolvedPipeline, Refusal> resolve_pipeline(const View& view, const Object& run);

// The name in label tekton.dev/pipeline (7.1).
std::string pipeline_label(const Object& run);
// The Pipeline's name in messages: of the Pipeline, or of the run itself when it is inline.
std::string pipeline_name(const Object& run);

// The pipeline with everything replaced that is known before a task runs. `values` are the run's
// params.
Value substituted_pipeline(const Value& spec, const std::map<std::string, Value>& values,
                           const Object& run);
// Params of a pipeline task, and those its inline spec declares and the run's values give.
Value task_params(const Value& pipeline_task, const std::map<std::string, Value>& values);

}  // namespace athanor::tekton
