// SPDX-License-Identifier: Apache-2.0
#include "cli/jobs/job_watch.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <utility>

#include "api/tekton.hpp"
#include "base/clock.hpp"
#include "cli/output/filter.hpp"
#include "cli/output/formats.hpp"
#include "cli/session/unreconciled.hpp"
#include "systems/fournos/kinds/fournos_job.hpp"
#include "views/job_labels.hpp"

namespace athanor::cli {
namespace {

// Rows of a live list cannot wait for the widest one.
std::vector<std::size_t> live_widths(bool with_namespace) {
  std::vector<std::size_t> widths{28, 12, 9, 13, 19, 8, 5, 0};
  if (with_namespace) {
    widths.insert(widths.begin(), 18);
  }
  return widths;
}

// One name is watched alone; of several the filter takes them.
std::string only_name(const ListOptions& list) {
  return list.names.size() == 1 ? list.names.front() : std::string();
}

}  // namespace

std::string age_of(const Object& object) {
  const auto created = object.creation_time();
  return created ? format_age(wall_clock()->now() - *created) : "<unknown>";
}

JobWatch::JobWatch(Session& session, std::string ns, const JobsOptions& options, ListFilter filter,
                   WatchPatience patience)
    : session_(session),
      options_(options),
      filter_(std::move(filter)),
      columns_{.with_namespace = options.all_namespaces,
               .wide = options.list.format.output == Output::Wide},
      table_(views::job_header(columns_), live_widths(options.all_namespaces)),
      patience_(patience),
      out_(STDOUT_FILENO),
      list_(session,
            {.kind = &api::kFournosJob,
             .ns = std::move(ns),
             .name = only_name(options.list),
             .what_runs = "what runs",
             .goes_on = "the jobs go on",
             .patience = patience.away},
            {.shown = [this](const Object& job) { show(job); },
             .gone = [this](const Key& job) { show_gone(job); },
             .tick = [this](Instant now) { report_unseen(now); }}) {}

int JobWatch::run() {
  if (options_.list.format.is_table() && !options_.list.no_headers) {
    print_row(views::job_header(columns_));
  }
  return list_.run();
}

void JobWatch::print_row(const std::vector<std::string>& cells) const {
  out_.print(table_.row(cells, columns_.wide ? 0 : out_.columns()));
}

std::string JobWatch::cause_of(const Object& job) {
  if (job.status()["phase"].as_string() != "Failed") {
    return {};
  }
  const auto runs = session_.list(api::kTaskRun, std::string(job.ns()),
                                  fmt::format("{}={}", views::kJobNameLabel, job.name()));
  const views::FailureCauses causes = views::failure_causes(runs.value_or({}));
  const auto cause = causes.find(job.key());
  return cause == causes.end() ? std::string() : cause->second;
}

void JobWatch::show(const Object& job) {
  if (!filter_.takes(job,
                     {.phase = job.status()["phase"].str(), .owner = job.spec()["owner"].str()})) {
    return;
  }
  if (job.status()["phase"].as_string().empty()) {
    unseen_.emplace(job.key(), job);
  } else {
    unseen_.erase(job.key());
  }
  shown_.insert(job.key());
  if (options_.list.format.is_table()) {
    print_row(views::job_row(job, columns_, cause_of(job), wall_clock()->now()).cells);
    return;
  }
  const auto text =
      render_objects({job}, options_.list.format, Shape::Single, options_.list.no_headers);
  out_.print(text.ok() ? *text : fmt::format("athanor: {}\n", text.error().message));
}

void JobWatch::show_gone(const Key& job) {
  unseen_.erase(job);
  if (!options_.list.format.is_table() || shown_.erase(job) == 0) {
    return;
  }
  std::vector<std::string> row(views::job_header(columns_).size(), "-");
  std::size_t column = 0;
  if (options_.all_namespaces) {
    row[column++] = job.ns;
  }
  row[column] = job.name;
  row[column + 2] = "Gone";
  print_row(row);
}

void JobWatch::report_unseen(Instant now) {
  if (list_.away()) {
    return;
  }
  for (auto entry = unseen_.begin(); entry != unseen_.end();) {
    const auto born = entry->second.creation_time();
    if (born && now - *born < patience_.unseen) {
      ++entry;
      continue;
    }
    const Object& job = entry->second;
    Terminal(STDERR_FILENO)
        .print(
            fmt::format("athanor: {}\n", unseen_text(session_, std::string(job.ns()),
                                                     std::string(job.name()), patience_.unseen)));
    entry = unseen_.erase(entry);
  }
}

}  // namespace athanor::cli
