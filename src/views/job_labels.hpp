// SPDX-License-Identifier: Apache-2.0
// Labels of what belongs to a job.
#pragma once

namespace athanor::views {

// The labels that tie every child to its job (docs/spec/fournos.md section 1).
inline constexpr const char* kJobNameLabel = "fournos.dev/job-name";
inline constexpr const char* kPipelineTaskLabel = "tekton.dev/pipelineTask";

}  // namespace athanor::views
