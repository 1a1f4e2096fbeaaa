// SPDX-License-Identifier: Apache-2.0
// athanor describe.
#include <unistd.h>

#include <memory>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/files/time_zone_files.hpp"
#include "cli/describe/chosen_subjects.hpp"
#include "cli/output/formats.hpp"
#include "cli/output/terminal.hpp"
#include "cli/session/elsewhere.hpp"
#include "cli/session/verbs.hpp"
#include "views/describe.hpp"
#include "views/subjects.hpp"

namespace athanor::cli {
namespace {

// Describes one object; the error names other namespaces that have one of its name.
Result<views::Description> described(views::DescribeSource& source, Session& session,
                                     const views::SubjectName& subject) {
  auto description = views::describe(source, subject);
  const Kind* kind = kind_of_subject(subject.kind);
  const bool in_namespace = kind != nullptr && subject.kind != views::Subject::Cluster;
  if (!description.ok() && in_namespace) {
    return with_other_namespaces(session, *kind, subject.name, description.error());
  }
  return description;
}

Result<int> describe_all(const DescribeOptions& options) {
  if (options.labels.empty()) {
    ATHANOR_TRY_VOID(views::parse_subjects(options.objects));  // wrong words need no server
  }
  ATHANOR_TRY(Session session, Session::open(options.target, Session::Home::Jobs));
  ATHANOR_TRY(const std::vector<views::SubjectName> subjects,
              chosen_subjects(session, options.objects, options.labels, options.clusters_ns));
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
