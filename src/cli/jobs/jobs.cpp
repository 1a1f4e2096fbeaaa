// SPDX-License-Identifier: Apache-2.0
// athanor jobs: the list, the live list, and one job with its children.
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <functional>

#include "api/builtin.hpp"
#include "api/kueue.hpp"
#include "api/tekton.hpp"
#include "base/clock.hpp"
#include "cli/jobs/job_watch.hpp"
#include "cli/output/listing.hpp"
#include "cli/output/terminal.hpp"
#include "cli/session/elsewhere.hpp"
#include "cli/session/verbs.hpp"
#include "kube/value/condition.hpp"
#include "systems/fournos/kinds/fournos_job.hpp"
#include "views/job_labels.hpp"
#include "views/job_trace.hpp"
#include "views/job_view.hpp"
#include "views/listing.hpp"
#include "views/reasons.hpp"
#include "views/table.hpp"

namespace athanor::cli {
namespace {

const Kind& job_kind() {
  return api::kFournosJob;
}

void add_children(views::Table& table, std::string_view kind, const std::vector<Object>& objects) {
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
    table.add({std::string(kind), std::string(object.name()), state, age_of(object),
               views::clear_reason(note)});
  }
}

}  // namespace

std::string failure_cause(Session& session, const Object& job) {
  if (job.status()["phase"].as_string() != "Failed") {
    return {};
  }
  const auto runs = session.list(api::kTaskRun, std::string(job.ns()),
                                 fmt::format("{}={}", views::kJobNameLabel, job.name()));
  const views::FailureCauses causes = views::failure_causes(runs.value_or({}));
  const auto cause = causes.find(job.key());
  return cause == causes.end() ? std::string() : cause->second;
}

Result<std::string> job_summary(Session& session, const std::string& ns, const std::string& name,
                                std::size_t columns) {
  ATHANOR_TRY(const Object job, session.get(job_kind(), ns, name));
  views::Table table({"KIND", "NAME", "STATE", "AGE", "MESSAGE"});
  const std::string cause = failure_cause(session, job);
  table.add({"FournosJob", name, job.status()["phase"].str(), age_of(job),
             cause.empty() ? views::clear_reason(job.status()["message"].as_string()) : cause});
  const std::string selector = fmt::format("{}={}", views::kJobNameLabel, name);
  for (const Kind* kind :
       {&api::kueue::kWorkload, &api::kPipelineRun, &api::kTaskRun, &api::kPod}) {
    ATHANOR_TRY(const std::vector<Object> children, session.list(*kind, ns, selector));
    add_children(table, kind->name, children);
  }
  return table.text(columns);
}

namespace {

// The jobs that were asked for; absent names are an error where it is one name alone.
Result<std::vector<Object>> fetch_jobs(Session& session, const JobsOptions& options) {
  if (options.list.names.size() == 1 && !options.all_namespaces) {
    const std::string& name = options.list.names.front();
    auto one = session.get(job_kind(), session.ns(), name);
    return one.ok() ? Result<std::vector<Object>>(std::vector<Object>{*std::move(one)})
                    : with_other_namespaces(session, job_kind(), name, one.error());
  }
  return session.list(job_kind(), options.all_namespaces ? "" : session.ns());
}

// Steps that failed; who may not read TaskRuns sees the jobs' own messages.
views::FailureCauses read_causes(Session& session, const std::vector<Object>& jobs,
                                 const std::string& ns) {
  const bool failed = std::ranges::any_of(
      jobs, [](const Object& job) { return job.status()["phase"].as_string() == "Failed"; });
  const auto runs = failed ? session.list(api::kTaskRun, ns, views::kJobNameLabel)
                           : Result<std::vector<Object>>(std::vector<Object>());
  return views::failure_causes(runs.value_or({}));
}

void print_trace(const std::vector<Object>& jobs) {
  const views::JobTrace trace = views::trace_of(jobs);
  Terminal(STDOUT_FILENO).print(trace.csv);
  if (trace.left_out > 0) {
    Terminal(STDERR_FILENO)
        .print(fmt::format("athanor: {} jobs are left out: they have not ended, never ran, or ask "
                           "for neither GPUs nor a cluster\n",
                           trace.left_out));
  }
}

Result<int> list_jobs(Session& session, const JobsOptions& options) {
  const Instant now = wall_clock()->now();
  const Terminal out(STDOUT_FILENO);
  const ListOptions& list = options.list;
  const std::string ns = options.all_namespaces ? "" : session.ns();
  ATHANOR_TRY(const ListFilter filter, ListFilter::parse(list, views::job_phases(), now));
  ATHANOR_TRY_VOID(check_watch(list));
  if (list.watch) {
    return JobWatch(session, ns, options, filter).run();
  }
  const bool wide = list.format.output == Output::Wide;
  const std::size_t columns = wide ? 0 : out.columns();
  if (shows_one(list) && !options.all_namespaces) {
    const std::string& name = list.names.front();
    const auto summary = job_summary(session, session.ns(), name, columns);
    if (!summary.ok()) {
      return with_other_namespaces(session, api::kFournosJob, name, summary.error());
    }
    out.print(*summary);
    return 0;
  }
  ATHANOR_TRY(std::vector<Object> jobs, fetch_jobs(session, options));
  const std::vector<std::string> missing = filter.missing(jobs);
  if (list.format.output == Output::Trace) {
    std::erase_if(jobs, [&](const Object& job) {
      return !filter.takes(
          job, {.phase = job.status()["phase"].str(), .owner = job.spec()["owner"].str()});
    });
    print_trace(jobs);
    return report_missing("job", missing);
  }
  const views::FailureCauses causes =
      list.format.is_table() ? read_causes(session, jobs, ns) : views::FailureCauses();
  views::Listing listing = views::job_listing(
      std::move(jobs), causes, {.with_namespace = options.all_namespaces, .wide = wide}, now);
  ATHANOR_TRY_VOID(arrange(listing, filter, list));
  if (listing.rows.empty() && missing.empty() && list.format.is_table()) {
    Terminal(STDERR_FILENO)
        .print(fmt::format("No jobs in {}{}. Submit one: athanor submit --help\n{}",
                           ns.empty() ? "any namespace" : "namespace " + ns,
                           is_filtered(list) ? " that the flags select" : "",
                           ns.empty() ? "" : hint_elsewhere(session, api::kFournosJob, "jobs")));
    return 0;
  }
  ATHANOR_TRY(const std::string text, print_listing(listing, list, columns));
  out.print(text);
  return report_missing("job", missing);
}

}  // namespace

int run(const JobsOptions& options) {
  auto session = Session::open(options.target, Session::Home::Jobs);
  if (!session.ok()) {
    return fail(session.error());
  }
  const auto code = list_jobs(*session, options);
  return code.ok() ? *code : fail(code.error());
}

}  // namespace athanor::cli
