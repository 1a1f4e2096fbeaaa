// SPDX-License-Identifier: Apache-2.0
#include "cli/results/job_record.hpp"

#include <fmt/format.h>

#include <utility>

#include "api/tekton.hpp"
#include "systems/fournos/kinds/fournos_job.hpp"
#include "views/job_labels.hpp"

namespace athanor::cli {

Result<views::JobRecord> read_job_record(Session& session, const std::string& name) {
  constexpr int kGone = 404;
  views::JobRecord record;
  ATHANOR_TRY(record.job, session.get(api::kFournosJob, session.ns(), name));
  auto run = session.get(api::kPipelineRun, session.ns(), name);
  if (run.ok()) {
    record.run = *std::move(run);
  } else if (run.error().code != kGone) {
    return run.error();
  }
  ATHANOR_TRY(record.task_runs, session.list(api::kTaskRun, session.ns(),
                                             fmt::format("{}={}", views::kJobNameLabel, name)));
  return record;
}

}  // namespace athanor::cli
