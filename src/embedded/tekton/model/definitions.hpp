// SPDX-License-Identifier: Apache-2.0
// Finding the Pipeline or Task that a run refers to (docs/spec/tekton.md 1, 7.2 rows 1 and 10).
#pragma once

#include <string_view>

#include "base/result.hpp"
#include "embedded/tekton/model/remote_definitions.hpp"
#include "kube/value/kind.hpp"
#include "runtime/view/view.hpp"

namespace athanor::tekton {

// Returns the definition that `ref` {name, resolver, params} names in namespace `ns`. Errors:
// NotFound `tasks.tekton.dev "<t>" not found`; BadRequest `resolver type "<x>" not enabled in the
// embedded engine`; those of a remote resolver (remote_definitions.hpp).
Result<Definition> find_definition(const View& view, const Kind& kind, const Value& ref,
                                   std::string_view ns);
// Checks whether the reference names a custom task.
bool is_custom_task(const Value& ref);
// Returns true if the pipeline task runs a pipeline: it has a pipelineRef or pipelineSpec.
bool is_pipeline_task(const Value& task);

}  // namespace athanor::tekton
