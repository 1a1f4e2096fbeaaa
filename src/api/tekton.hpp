// SPDX-License-Identifier: Apache-2.0
// The Tekton kinds (docs/spec/tekton.md 2, 3). The run engine reads them as Values, so that nothing
// of a definition is lost on the way to a pod; here are their names and schemas.
#pragma once

#include <span>

#include "api/describe.hpp"
#include "kube/value/kind.hpp"

namespace athanor::api {

inline constexpr Kind kPipelineRun{"tekton.dev", "v1", "PipelineRun", "pipelineruns", true};
inline constexpr Kind kTaskRun{"tekton.dev", "v1", "TaskRun", "taskruns", true};
inline constexpr Kind kPipeline{"tekton.dev", "v1", "Pipeline", "pipelines", true};
inline constexpr Kind kTask{"tekton.dev", "v1", "Task", "tasks", true};
inline constexpr Kind kStepAction{"tekton.dev", "v1beta1", "StepAction", "stepactions", true};
// Served and stored, without a controller.
inline constexpr Kind kCustomRun{"tekton.dev", "v1beta1", "CustomRun", "customruns", true};
inline constexpr Kind kResolutionRequest{"resolution.tekton.dev", "v1beta1", "ResolutionRequest",
                                         "resolutionrequests", true};
inline constexpr Kind kVerificationPolicy{"tekton.dev", "v1alpha1", "VerificationPolicy",
                                          "verificationpolicies", true};

std::span<const CustomKind* const> tekton_kinds();

}  // namespace athanor::api
