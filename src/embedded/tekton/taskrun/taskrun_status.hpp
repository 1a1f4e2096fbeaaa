// SPDX-License-Identifier: Apache-2.0
// A TaskRun's status from its pod: steps, results, condition (docs/spec/tekton.md 10.2 to 10.4).
#pragma once

#include <string>

#include "base/result.hpp"
#include "embedded/tekton/model/runs.hpp"
#include "embedded/tekton/model/settings.hpp"
#include "kube/value/object.hpp"
#include "kube/value/value.hpp"

namespace athanor::tekton {

// Returns status.steps in the order of the spec, without steps that have no container status yet.
Value step_states(const Value& task_spec, const Object& pod);
// Returns status.sidecars in the order of the spec, without sidecars that have no status yet.
Value sidecar_states(const Value& task_spec, const Object& pod);
// Returns `steps` for a pod that is removed: unended steps are terminated for `reason`.
Value terminated_steps(Value steps, std::string_view pod, std::string_view reason, Instant now);

// Returns status.results: the declared results that the steps wrote; the last writer wins.
// Errors (BadRequest): `[User error] Provided results don't match …`, `…missing keys…` (10.3).
Result<Value> task_results(const Value& task_spec, const Object& pod);
// Returns status.artifacts {inputs, outputs}: what the steps and the task as a whole wrote.
Value task_artifacts(const Value& task_spec, const Object& pod);
// Returns a message with step and size if a result is larger than allowed; empty when all fit.
std::string oversized_result(const Object& pod, const Settings& settings);

// Returns condition Succeeded, derived from the pod's state.
Outcome pod_outcome(const Object& task_run, const Value& task_spec, const Object& pod,
                    const Value& steps, const Settings& settings);

}  // namespace athanor::tekton
