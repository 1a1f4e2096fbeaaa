// SPDX-License-Identifier: Apache-2.0
// athanor jobs: the list, the live list, and one job with its children.
#include <fmt/core.h>
#include <unistd.h>

#include "api/builtin.hpp"
#include "api/kueue.hpp"
#include "api/tekton.hpp"
#include "base/clock.hpp"
#include "cli/terminal.hpp"
#include "cli/verbs.hpp"
#include "kube/text/json.hpp"
#include "kube/value/condition.hpp"
#include "systems/fournos/kinds/fournos_job.hpp"

namespace athanor::cli {
namespace {

const Kind& job_kind() {
  return api::kFournosJob;
}

std::string age_of(const Object& object) {
  const auto created = object.creation_time();
  return created ? format_age(wall_clock()->now() - *created) : "<unknown>";
}

std::vector<std::string> row_of(const Object& job, bool with_namespace) {
  std::vector<std::string> row;
  if (with_namespace) {
    row.emplace_back(job.ns());
  }
  row.emplace_back(job.name());
  row.push_back(job.spec()["owner"].str());
  row.push_back(job.status()["phase"].str());
  row.push_back(job.status()["cluster"].str());
  row.push_back(age_of(job));
  row.push_back(job.status()["message"].str());
  return row;
}

std::vector<std::string> header_of(bool with_namespace) {
  std::vector<std::string> header{"NAME", "OWNER", "PHASE", "CLUSTER", "AGE", "MESSAGE"};
  if (with_namespace) {
    header.insert(header.begin(), "NAMESPACE");
  }
  return header;
}

// Rows of a live list cannot wait for the widest one.
std::vector<std::size_t> live_widths(bool with_namespace) {
  std::vector<std::size_t> widths{28, 12, 9, 13, 5, 0};
  if (with_namespace) {
    widths.insert(widths.begin(), 18);
  }
  return widths;
}

// Prints one line per change, from the current state on, until the stream ends for good.
int watch_jobs(Session& session, const std::string& ns, const JobsOptions& options) {
  const Terminal out(STDOUT_FILENO);
  if (options.output == Output::Table) {
    out.print(Table(header_of(options.all_namespaces), live_widths(options.all_namespaces)).text());
  }
  std::string url = Session::path(job_kind(), ns) + "?watch=true";
  if (!options.name.empty()) {
    url += "&fieldSelector=" + client::escape("metadata.name=" + options.name);
  }
  bool open = true;
  int exit_code = 0;
  const auto stream = session.connection().stream(
      url, {.line =
                [&](std::string_view line) {
                  const auto event = json::parse(line);
                  if (!event.ok() || (*event)["type"].as_string() == "BOOKMARK") {
                    return;
                  }
                  const Object job((*event)["object"]);
                  if (options.output != Output::Table) {
                    out.print(render({job}, options.output, true, job_kind()));
                    return;
                  }
                  const Table table(row_of(job, options.all_namespaces),
                                    live_widths(options.all_namespaces));
                  out.print(table.text());
                },
            .ended =
                [&](const Result<void>& outcome) {
                  open = false;
                  exit_code = outcome.ok() ? 0 : fail(outcome.error());
                }});
  while (open) {
    session.connection().run(std::chrono::seconds(1));
  }
  return exit_code;
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
    table.add({std::string(kind), std::string(object.name()), state, age_of(object), note});
  }
}

}  // namespace

Result<std::string> job_summary(Session& session, const std::string& ns, const std::string& name) {
  ATHANOR_TRY(const Object job, session.get(job_kind(), ns, name));
  Table table({"KIND", "NAME", "STATE", "AGE", "MESSAGE"});
  table.add({"FournosJob", name, job.status()["phase"].str(), age_of(job),
             job.status()["message"].str()});
  const std::string selector = fmt::format("{}={}", kJobNameLabel, name);
  for (const Kind* kind :
       {&api::kueue::kWorkload, &api::kPipelineRun, &api::kTaskRun, &api::kPod}) {
    ATHANOR_TRY(const std::vector<Object> children, session.list(*kind, ns, selector));
    add_children(table, kind->name, children);
  }
  return table.text();
}

int run(const JobsOptions& options) {
  auto session = Session::open(options.target);
  if (!session.ok()) {
    return fail(session.error());
  }
  const std::string ns = options.all_namespaces ? "" : session->ns();
  if (options.watch) {
    return watch_jobs(*session, ns, options);
  }
  const Terminal out(STDOUT_FILENO);
  if (!options.name.empty() && options.output == Output::Table) {
    const auto summary = job_summary(*session, session->ns(), options.name);
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
  if (options.output != Output::Table) {
    out.print(render(jobs, options.output, !options.name.empty(), job_kind()));
    return 0;
  }
  if (jobs.empty()) {
    Terminal(STDERR_FILENO)
        .print(fmt::format("No jobs in {}. Submit one: athanor submit --help\n",
                           ns.empty() ? "any namespace" : "namespace " + ns));
    return 0;
  }
  Table table(header_of(options.all_namespaces));
  for (const Object& job : jobs) {
    table.add(row_of(job, options.all_namespaces));
  }
  out.print(table.text());
  return 0;
}

}  // namespace athanor::cli
