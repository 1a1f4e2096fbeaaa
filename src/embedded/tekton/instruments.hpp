// SPDX-License-Identifier: Apache-2.0
// Metrics of runs under Tekton's names (docs/spec/tekton.md 13).
#pragma once

#include "runtime/view/instruments.hpp"

namespace athanor::tekton {

// Returns the metrics computed from PipelineRuns, TaskRuns and their pods.
const Instruments& instruments();

}  // namespace athanor::tekton
