// SPDX-License-Identifier: Apache-2.0
// The run of a job as a graph of tasks, and two runs beside one another (docs/spec/dashboard.md
// B4.2, B4.3). Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.hpp"
#include "kube/value/object.hpp"
#include "kube/value/value.hpp"

namespace athanor::console {

// A job's PipelineRun with its TaskRuns.
struct JobPipeline {
  std::optional<Object> run{};
  std::vector<Object> tasks{};
};

// Returns {run, state, started, completed, parameters, results, tasks}.
Value pipeline_value(const JobPipeline& pipeline);
// Returns the container of the first failed step of a task of pipeline_value(); empty: none.
std::string failed_container(const Value& task);
// Returns the lines of a text.
Value lines_value(std::string_view text);

// Returns {spec: [{path, values}], tasks: [{name, seconds}], results: [{name, values,
// differencePercent}]} of jobs and their runs, in the same order.
Value comparison_of(const std::vector<Object>& jobs, const std::vector<JobPipeline>& runs,
                    Instant now);

// Returns the field that a message of the API server names ("spec.owner: Required value"); empty:
// none.
std::string field_of_message(std::string_view message);

}  // namespace athanor::console
