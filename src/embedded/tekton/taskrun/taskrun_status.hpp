// SPDX-License-Identifier: Apache-2.0
// A TaskRun's status from its pod: steps, results, condition (docs/spec/tekton.md 10.2 to 10.4).
#pragma once

#include <string>

#include "base/result.hpp"
#include "embedded/tekton/runs.hpp"
#include "embedded/tekton/settings.hpp"
#include "kube/value/object.hpp"
#include "kube/value/value.hpp"

namespace athanor::tekton {

// status.steps in the order of the spec; a step without a container status yet is left out.
Value step_states(const Value& task_spec, const Object& pod);
// status.sidecars, likewise.
Value sidecar_states(const Value& task_spec, const Object& pod);
// The same when the pod is taken away: what has not ended is terminated for `reason`.
Value terminated_steps(Value steps, std::string_view pod, std::string_view reason, Instant now);

// status.results: the declared results that the steps wrote; the last writer wins.
// Errors (BadRequest): `[User error] Provided results don't match …`, `…missing keys…` (10.3).
Result<Value> task_results(const Value& task_spec, const Object& pod);
// A step's words are larger than allowed: names the step and the size; empty when all fit.
std::string oversized_result(const Object& pod, const Settings& settings);

// Condition Succeeded from the pod's state.
Outcome pod_outcome(const Object& task_run, const Value& task_spec, const Object& pod,
                    const Value& steps, const Settings& settings);

}  // namespace athanor::tekton
