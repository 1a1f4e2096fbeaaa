// SPDX-License-Identifier: Apache-2.0
// The pod of a TaskRun (docs/spec/tekton.md 10.1), with the steps' order, scripts and results as
// annotation athanor.dev/steps for the embedded node: it runs the step containers one after
// another.
#pragma once

#include <cstddef>
#include <string>

#include "base/result.hpp"
#include "embedded/tekton/model/settings.hpp"
#include "embedded/tekton/taskrun/taskrun_resolve.hpp"
#include "kube/value/object.hpp"
#include "kube/value/value.hpp"

namespace athanor::tekton {

// Its value is JSON for the embedded node alone.
inline constexpr std::string_view kStepsAnnotation = "athanor.dev/steps";

// Returns the pod's name at the status' current attempt.
std::string current_pod_name(const Object& task_run);
// Returns the time limit of one attempt; nullopt: none.
std::optional<Duration> attempt_timeout(const Object& task_run, const Settings& settings);

// Makes the pod; `labels` and `annotations` are the TaskRun's. Error: the spec cannot become a pod
// (`multiple volumes with same name "<n>"`).
Result<Value> make_pod(const Object& task_run, const Value& labels, const Value& annotations,
                       const ResolvedTask& task, const Settings& settings);

}  // namespace athanor::tekton
