// SPDX-License-Identifier: Apache-2.0
// The controllers of the run engine.
#pragma once

#include "runtime/view/operator.hpp"

namespace athanor::tekton {

// Reconciles PipelineRuns: checks, order, TaskRuns, status (docs/spec/tekton.md 7, 8).
const Operator& pipelinerun_operator();
// Reconciles TaskRuns: pod, steps, results, status (docs/spec/tekton.md 8, 10).
const Operator& taskrun_operator();
// Sends CloudEvents about CustomRuns; writes nothing but Events.
const Operator& custom_run_events_operator();
// Deletes runs that ended, by the rules of their namespaces.
const Operator& pruner_operator();

}  // namespace athanor::tekton
