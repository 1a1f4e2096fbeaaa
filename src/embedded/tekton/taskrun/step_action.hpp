// SPDX-License-Identifier: Apache-2.0
// Steps that refer to a StepAction (docs/spec/tekton.md 3.4, 5.3).
#pragma once

#include <string_view>

#include "base/result.hpp"
#include "embedded/tekton/pipelinerun/pipelinerun_resolve.hpp"
#include "kube/value/value.hpp"
#include "runtime/view/view.hpp"

namespace athanor::tekton {

// The task spec with every `ref` replaced by what the StepAction says, its params by the step's.
Result<Value, Refusal> with_step_actions(const View& view, std::string_view ns,
                                         std::string_view task_run, Value task_spec);

}  // namespace athanor::tekton
