// SPDX-License-Identifier: Apache-2.0
// athanor jobs: the list, the live list, and one job with its children.
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <functional>

#include "api/builtin.hpp"
#include "api/kueue.hpp"
#include "api/tekton.hpp"
#include "cli/job_watch.hpp"
#include "cli/reasons.hpp"
#include "cli/terminal.hpp"
#include "cli/verbs.hpp"
#include "kube/value/condition.hpp"
#include "systems/fournos/kinds/fournos_job.hpp"

namespace athanor::cli {
namespace {

const Kind& job_kind() {
  return api::kFournosJob;
}

bool shows_table(Output output) {
  return output == Output::Table || output == Output::Wide;
}

void add_children(Table& table, std::string_view kind, const std::vector<Object>& objects) {
  for (const Object& object : objects) {
    const Value& conditions = object.status()["conditions"];
    std::string state = object.status()["phase"].str();
    std::string note;
    for (const char* type : {"Admitted", "Succeeded"}) {
      if (const Value& condition = find_condition(conditions, type);
          condition.is_object() && state.empty()) {
        state = condition["reason"].str();
        note = condition["message"].str();
      }
    }
    table.add(
        {std::string(kind), std::string(object.name()), state, age_of(object), clear_reason(note)});
  }
}

}  // namespace

Result<std::string> job_summary(Session& session, const std::string& ns, const std::string& name,
                                std::size_t columns) {
  ATHANOR_TRY(const Object job, session.get(job_kind(), ns, name));
  Table table({"KIND", "NAME", "STATE", "AGE", "MESSAGE"});
  table.add({"FournosJob", name, job.status()["phase"].str(), age_of(job),
             clear_reason(job.status()["message"].as_string())});
  const std::string selector = fmt::format("{}={}", kJobNameLabel, name);
  for (const Kind* kind :
       {&api::kueue::kWorkload, &api::kPipelineRun, &api::kTaskRun, &api::kPod}) {
    ATHANOR_TRY(const std::vector<Object> children, session.list(*kind, ns, selector));
    add_children(table, kind->name, children);
  }
  return table.text(columns);
}

int run(const JobsOptions& options) {
  auto session = Session::open(options.target, Session::Home::Jobs);
  if (!session.ok()) {
    return fail(session.error());
  }
  const std::string ns = options.all_namespaces ? "" : session->ns();
  if (options.watch) {
    return JobWatch(*session, ns, options).run();
  }
  const Terminal out(STDOUT_FILENO);
  const bool wide = options.output == Output::Wide;
  const std::size_t columns = wide ? 0 : out.columns();
  if (!options.name.empty() && shows_table(options.output)) {
    const auto summary = job_summary(*session, session->ns(), options.name, columns);
    if (!summary.ok()) {
      return fail(summary.error());
    }
    out.print(*summary);
    return 0;
  }
  std::vector<Object> jobs;
  if (options.name.empty()) {
    auto listed = session->list(job_kind(), ns);
    if (!listed.ok()) {
      return fail(listed.error());
    }
    jobs = *std::move(listed);
  } else {
    auto one = session->get(job_kind(), session->ns(), options.name);
    if (!one.ok()) {
      return fail(one.error());
    }
    jobs.push_back(*std::move(one));
  }
  if (!shows_table(options.output)) {
    out.print(render(jobs, options.output, !options.name.empty(), job_kind()));
    return 0;
  }
  if (jobs.empty()) {
    Terminal(STDERR_FILENO)
        .print(fmt::format("No jobs in {}. Submit one: athanor submit --help\n",
                           ns.empty() ? "any namespace" : "namespace " + ns));
    return 0;
  }
  std::ranges::stable_sort(jobs, std::greater(), [](const Object& job) {
    return job.metadata()["creationTimestamp"].str();
  });
  Table table(job_header(options.all_namespaces));
  for (const Object& job : jobs) {
    table.add(job_row(job, options.all_namespaces, wide));
  }
  out.print(table.text(columns));
  return 0;
}

}  // namespace athanor::cli
