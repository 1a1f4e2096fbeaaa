// SPDX-License-Identifier: Apache-2.0
// Jobs as rows: state, start, duration, and why one failed or waits. Pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/time.hpp"
#include "kube/value/object.hpp"
#include "views/listing.hpp"

namespace athanor::views {

// Returns the phases that --phase takes.
const std::vector<std::string>& job_phases();

// Returns when a job got its cluster, or how long it has had it; nullopt: not yet.
std::optional<Instant> start_of_job(const Object& job);
std::optional<Duration> duration_of_job(const Object& job, Instant now);
// Returns true for a phase that a job does not leave.
bool is_over(const Object& job);

// A phase, and when a job was first seen in it.
struct PhaseMoment {
  std::string phase{};
  Instant at{};
};
// A phase of a job; `to` is nullopt while it lasts. The last phase of a job that is over has no
// length.
struct PhaseSpan {
  std::string phase{};
  Instant from{};
  std::optional<Instant> to{};
};
// Phases and times of a job, as far as they are known.
struct JobCourse {
  std::string phase{};
  std::optional<Instant> created{};
  std::optional<Instant> resolved{};
  std::optional<Instant> admitted{};
  std::optional<Instant> ran{};  // began to run
  std::optional<Instant> ended{};
  std::vector<PhaseMoment> seen{};  // phases that were observed, the oldest first
};
// Returns the course that a job's conditions record; `seen` is empty.
JobCourse course_of_job(const Object& job);
// Returns the phases of a job without gaps: what was seen, before it what the conditions tell.
std::vector<PhaseSpan> phase_spans(const JobCourse& course);
// Returns the end of a job that is over.
std::optional<Instant> end_of_job(const Object& job);

// Causes of failures by job, from TaskRuns with the label of their job: "step-measure exited with
// code 7"; the first failed step of each job.
using FailureCauses = std::map<Key, std::string>;
FailureCauses failure_causes(const std::vector<Object>& task_runs);

// Columns of a list of jobs; the last is MESSAGE.
struct JobColumns {
  bool with_namespace = false;
  bool wide = false;  // the message as it is, not in short
};
// Returns the titles of the columns that job_row() fills.
std::vector<std::string> job_header(const JobColumns& columns);
// Returns the row of a job; `cause`: of its failure; empty: unknown.
ListRow job_row(const Object& job, const JobColumns& columns, const std::string& cause,
                Instant now);

// Rows of jobs, the newest first.
Listing job_listing(std::vector<Object> jobs, const FailureCauses& causes,
                    const JobColumns& columns, Instant now);

}  // namespace athanor::views
