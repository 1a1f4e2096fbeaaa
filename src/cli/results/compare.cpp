// SPDX-License-Identifier: Apache-2.0
// athanor compare.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "base/clock.hpp"
#include "cli/output/formats.hpp"
#include "cli/output/terminal.hpp"
#include "cli/results/job_record.hpp"
#include "cli/session/chosen_names.hpp"
#include "cli/session/verbs.hpp"
#include "runtime/view/usage.hpp"
#include "systems/fournos/kinds/fournos_job.hpp"
#include "views/comparison.hpp"

namespace athanor::cli {
namespace {

Error too_few() {
  return wrong_usage("compare takes two jobs or more: athanor compare BEFORE AFTER");
}

Result<int> compare_all(const CompareOptions& options) {
  if (options.jobs.labels.empty() && options.jobs.names.size() < 2) {
    return too_few();
  }
  ATHANOR_TRY(Session session, Session::open(options.target, Session::Home::Jobs));
  ATHANOR_TRY(const std::vector<std::string> names,
              chosen_names(session, api::kFournosJob, options.jobs));
  if (names.size() < 2) {
    return too_few();
  }
  std::vector<views::JobRecord> records;
  records.reserve(names.size());
  for (const std::string& name : names) {
    ATHANOR_TRY(views::JobRecord record, read_job_record(session, name));
    records.push_back(std::move(record));
  }
  const views::Comparison comparison = views::compare_jobs(
      records, options.all ? views::Parameters::All : views::Parameters::Different,
      wall_clock()->now());
  const Terminal out(STDOUT_FILENO);
  if (options.output == Output::Table) {
    out.print(comparison.text(out.columns()));
    if (comparison.results.empty()) {
      Terminal(STDERR_FILENO)
          .print(
              "athanor: none of these jobs' pipelines has results; a Task declares them in "
              "spec.results\n");
    }
    return 0;
  }
  ATHANOR_TRY(const std::string document,
              render_values({comparison.to_value()}, {.output = options.output, .pattern = {}},
                            Shape::Single, false));
  out.print(document);
  return 0;
}

}  // namespace

int run(const CompareOptions& options) {
  const auto code = compare_all(options);
  return code.ok() ? *code : fail(code.error());
}

}  // namespace athanor::cli
