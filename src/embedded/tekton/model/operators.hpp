// SPDX-License-Identifier: Apache-2.0
// The controllers of the run engine.
#pragma once

#include "runtime/view/operator.hpp"

namespace athanor::tekton {

// Reconciles PipelineRuns: checks, order, TaskRuns, status (docs/spec/tekton.md 7, 8).
const Operator& pipelinerun_operator();
// Reconciles TaskRuns: pod, steps, results, status (docs/spec/tekton.md 8, 10).
const Operator& taskrun_operator();

}  // namespace athanor::tekton
