// SPDX-License-Identifier: Apache-2.0
// The controllers of the run engine.
#pragma once

#include "runtime/view/operator.hpp"

namespace athanor::tekton {

// PipelineRun: checks, order, TaskRuns, status (docs/spec/tekton.md 7, 8).
const Operator& pipelinerun_operator();
// TaskRun: pod, steps, results, status (docs/spec/tekton.md 8, 10).
const Operator& taskrun_operator();

}  // namespace athanor::tekton
