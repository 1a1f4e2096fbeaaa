// SPDX-License-Identifier: Apache-2.0
// From a TaskRun to the task it runs: definition, params, workspaces, variables
// (docs/spec/tekton.md 6, 9, 10.4).
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "embedded/tekton/model/settings.hpp"
#include "embedded/tekton/pipelinerun/pipelinerun_resolve.hpp"
#include "kube/value/object.hpp"
#include "kube/value/value.hpp"
#include "runtime/view/view.hpp"

namespace athanor::tekton {

// The task that a TaskRun is to run.
struct ResolvedTask {
  Value spec{};    // with every variable replaced that is known before the pod runs
  Value labels{};  // of the Task
  Value annotations{};
  Value source{};               // refSource of the provenance
  Value pod_template{};         // of the TaskRun, with variables replaced
  Value bindings{};             // of its workspaces, likewise
  std::vector<Value> claims{};  // to be made for volumeClaimTemplates of its workspaces
};

// Finds and checks the task with its StepActions, and substitutes its variables.
Result<ResolvedTask, Refusal> resolve_task(const View& view, const Object& task_run,
                                           const Settings& settings);

// Returns "step-<name>", or "step-unnamed-<i>".
std::string step_container(const Value& step, std::size_t index);
// Returns "sidecar-<name>".
std::string sidecar_container(const Value& sidecar, std::size_t index);
// Returns "<name>", or "unnamed-<i>".
std::string step_name(const Value& step, std::size_t index);
// Returns `Maybe missing or invalid Task <ns>/<t>`; for an inline spec `Maybe invalid TaskSpec`.
std::string pod_failure_hint(const Object& task_run);

}  // namespace athanor::tekton
