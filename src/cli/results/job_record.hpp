// SPDX-License-Identifier: Apache-2.0
// Reads what is known of a job.
#pragma once

#include <string>

#include "base/result.hpp"
#include "cli/session/session.hpp"
#include "views/comparison.hpp"

namespace athanor::cli {

// Reads a job with its run and its tasks' runs. Errors: there is no such job, or something may not
// be read; a run that is gone is none.
Result<views::JobRecord> read_job_record(Session& session, const std::string& name);

}  // namespace athanor::cli
