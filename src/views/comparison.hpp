// SPDX-License-Identifier: Apache-2.0
// Comparison: parameters, durations and results of several jobs side by side, as data; text and
// JSON are made from it. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.hpp"
#include "kube/value/object.hpp"
#include "kube/value/value.hpp"

namespace athanor::views {

// One result of a run.
struct JobResult {
  std::string task{};  // empty: of the pipeline
  std::string name{};
  std::string value{};
};

// One job with its runs.
struct JobRecord {
  Object job{};
  std::optional<Object> run{};  // its PipelineRun
  std::vector<Object> task_runs{};
};

// Returns results of the pipeline, then those of tasks that the pipeline does not repeat. A result
// that is a JSON object is one result for each of its members: "latency.p99".
std::vector<JobResult> results_of(const JobRecord& record);
// Returns the text as a number, where all of it is one.
std::optional<double> number_of(std::string_view text);

// Which parameters are shown.
enum class Parameters : std::uint8_t { Different, All };

// Jobs beside the first one.
struct Comparison {
  struct Cell {
    std::string text{};               // empty: this job has none
    std::optional<double> number{};   // of results; of durations seconds
    std::optional<double> percent{};  // more than the first job's number; not of the first job
    double slack = 0;                 // by how much the number may be off
  };
  struct Row {
    std::string name{};
    std::vector<Cell> cells{};  // in the order of the jobs
  };
  std::vector<std::string> jobs{};
  std::vector<std::string> phases{};
  std::vector<Row> parameters{};  // paths in the spec
  std::vector<Row> durations{};   // of each task, and of the whole run
  std::vector<Row> results{};

  [[nodiscard]] Value to_value() const;
  // Tables of at most `columns` places; 0: any.
  [[nodiscard]] std::string text(std::size_t columns) const;
};

// Compares jobs with the first one. `now`: the end of those that run.
Comparison compare_jobs(const std::vector<JobRecord>& records, Parameters parameters, Instant now);

}  // namespace athanor::views
