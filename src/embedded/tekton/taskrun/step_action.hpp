// SPDX-License-Identifier: Apache-2.0
// Steps that refer to a StepAction (docs/spec/tekton.md 3.4, 5.3).
#pragma once

#include "base/result.hpp"
#include "embedded/tekton/model/substitute.hpp"
#include "embedded/tekton/pipelinerun/pipelinerun_resolve.hpp"
#include "kube/value/object.hpp"
#include "kube/value/value.hpp"
#include "runtime/view/view.hpp"

namespace athanor::tekton {

// Returns the task spec with every `ref` replaced by the StepAction's content, its params by the
// step's. `task_params` are the variables that the values of the step's params may hold.
Result<Value, Refusal> with_step_actions(const View& view, const Object& task_run, Value task_spec,
                                         const Replacements& task_params);

}  // namespace athanor::tekton
