// SPDX-License-Identifier: Apache-2.0
// What pipeline tasks say of each other: statuses, results, contexts (docs/spec/tekton.md 5.2).
#pragma once

#include "embedded/tekton/model/field_errors.hpp"
#include "kube/value/value.hpp"

namespace athanor::tekton {

// Statuses of tasks in DAG tasks; results and statuses in final tasks; runAfter in final tasks.
FieldErrors validate_task_references(const Value& pipeline);
// Checks results[] of a pipeline.
FieldErrors validate_pipeline_results(const Value& pipeline);
// Checks the $(context.…) variables of one pipeline task.
FieldErrors validate_context_variables(const Value& task);

}  // namespace athanor::tekton
