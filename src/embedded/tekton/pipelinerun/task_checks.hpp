// SPDX-License-Identifier: Apache-2.0
// The checks of 7.2 that look into the tasks of a run's pipeline: rows 10 to 14.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "embedded/tekton/pipelinerun/pipelinerun_resolve.hpp"

namespace athanor::tekton {

// Checks the tasks of the substituted `pipeline`; `values` are the run's params.
std::optional<Refusal> check_tasks(const View& view, const Object& run, const Value& pipeline,
                                   const std::map<std::string, Value>& values);

}  // namespace athanor::tekton
