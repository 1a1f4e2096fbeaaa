// SPDX-License-Identifier: Apache-2.0
// Jobs as rows of the console (docs/spec/dashboard.md A4, B4.2). Pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/time.hpp"
#include "console/model/row_table.hpp"
#include "console/world/world.hpp"
#include "kube/value/object.hpp"
#include "kube/value/value.hpp"
#include "views/job_view.hpp"
#include "views/queue_view.hpp"

namespace athanor::console {

// Columns of GET /jobs.
const ListShape& job_shape();

// Inputs of the rows of jobs besides the jobs.
struct JobSurroundings {
  std::vector<views::QueueEntry> queue{};
  std::vector<views::QueueEntry> finished{};              // Workloads without a place
  std::map<Key, const views::QueueEntry*> entries{};      // by job
  std::map<Key, std::vector<const Object*>> task_runs{};  // by job
  views::FailureCauses causes{};
};
// Collects them; they refer to `facts`, which must outlive them.
JobSurroundings job_surroundings(const Facts& facts);

// Makes one job's row. Of an archived one `surroundings` know nothing.
Value job_row(const Object& job, const JobSurroundings& surroundings);
// Adds how long a row's job has waited or run by now; a row of a job that ended stays as it is.
void add_elapsed(Value& row, Instant now);

// Returns the phases of a job: [{phase, from, to, seconds}]; the last of one that is over has 0.
Value phase_list(const views::JobCourse& course, Instant now);
// Returns spec.executionEngine.forge, or spec.forge of the older dialect.
const Value& forge_of(const Object& job);

}  // namespace athanor::console
