// SPDX-License-Identifier: Apache-2.0
// athanor describe.
#include <unistd.h>

#include <memory>
#include <string>
#include <vector>

#include "api/builtin.hpp"
#include "api/kueue.hpp"
#include "base/clock.hpp"
#include "base/files/time_zone_files.hpp"
#include "cli/output/formats.hpp"
#include "cli/output/terminal.hpp"
#include "cli/session/elsewhere.hpp"
#include "cli/session/verbs.hpp"
#include "systems/appwrapper/model/kinds.hpp"
#include "systems/fournos/kinds/fournos_job.hpp"
#include "views/describe.hpp"
#include "views/subjects.hpp"

namespace athanor::cli {
namespace {

// The kind of a subject that is in the namespace of jobs; nullptr for others.
const Kind* kind_of(views::Subject subject) {
  switch (subject) {
    case views::Subject::Job:
      return &api::kFournosJob;
    case views::Subject::AppWrapper:
      return &appwrapper::kAppWrapper;
    case views::Subject::Workload:
      return &api::kueue::kWorkload;
    case views::Subject::Cluster:
    case views::Subject::Queue:
    case views::Subject::Slices:
    case views::Subject::Zones:
      return nullptr;
    case views::Subject::Schedule:
      return &api::kCronJob;
  }
  return nullptr;
}

// Describes one object; the error names other namespaces that have one of its name.
Result<views::Description> described(views::DescribeSource& source, Session& session,
                                     const views::SubjectName& subject) {
  auto description = views::describe(source, subject);
  const Kind* kind = kind_of(subject.kind);
  if (!description.ok() && kind != nullptr) {
    return with_other_namespaces(session, *kind, subject.name, description.error());
  }
  return description;
}

Result<int> describe_all(const DescribeOptions& options) {
  ATHANOR_TRY(const std::vector<views::SubjectName> subjects,
              views::parse_subjects(options.objects));
  ATHANOR_TRY(Session session, Session::open(options.target, Session::Home::Jobs));
  ATHANOR_TRY(const std::unique_ptr<VerbContext> context, open_context(options.target));
  views::DescribeSource source{.context = *context,
                               .jobs_ns = session.ns(),
                               .clusters_ns = options.clusters_ns,
                               .now = wall_clock()->now(),
                               .find_zone = find_time_zone};
  const Terminal out(STDOUT_FILENO);
  std::vector<Value> values;
  std::string text;
  for (const views::SubjectName& subject : subjects) {
    ATHANOR_TRY(const views::Description description, described(source, session, subject));
    values.push_back(description.to_value());
    text += (text.empty() ? "" : "\n") + description.text(source.now);
  }
  if (options.output == Output::Table) {
    out.print(text);
    return 0;
  }
  ATHANOR_TRY(
      const std::string document,
      render_values(values, {.output = options.output, .pattern = {}}, Shape::Single, false));
  out.print(document);
  return 0;
}

}  // namespace

int run(const DescribeOptions& options) {
  const auto code = describe_all(options);
  return code.ok() ? *code : fail(code.error());
}

}  // namespace athanor::cli
