// SPDX-License-Identifier: Apache-2.0
#include "cli/job_watch.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <utility>

#include "base/clock.hpp"
#include "cli/reasons.hpp"
#include "cli/unreconciled.hpp"
#include "systems/fournos/kinds/fournos_job.hpp"

namespace athanor::cli {
namespace {

// Rows of a live list cannot wait for the widest one.
std::vector<std::size_t> live_widths(bool with_namespace) {
  std::vector<std::size_t> widths{28, 12, 9, 13, 5, 0};
  if (with_namespace) {
    widths.insert(widths.begin(), 18);
  }
  return widths;
}

}  // namespace

std::string age_of(const Object& object) {
  const auto created = object.creation_time();
  return created ? format_age(wall_clock()->now() - *created) : "<unknown>";
}

std::vector<std::string> job_row(const Object& job, bool with_namespace, bool wide) {
  std::vector<std::string> row;
  if (with_namespace) {
    row.emplace_back(job.ns());
  }
  row.emplace_back(job.name());
  row.push_back(job.spec()["owner"].str());
  row.push_back(job.status()["phase"].str());
  row.push_back(job.status()["cluster"].str());
  row.push_back(age_of(job));
  const std::string message = job.status()["message"].str();
  row.push_back(wide ? message : clear_reason(message));
  return row;
}

std::vector<std::string> job_header(bool with_namespace) {
  std::vector<std::string> header{"NAME", "OWNER", "PHASE", "CLUSTER", "AGE", "MESSAGE"};
  if (with_namespace) {
    header.insert(header.begin(), "NAMESPACE");
  }
  return header;
}

JobWatch::JobWatch(Session& session, std::string ns, const JobsOptions& options,
                   WatchPatience patience)
    : session_(session),
      options_(options),
      patience_(patience),
      out_(STDOUT_FILENO),
      list_(session,
            {.kind = &api::kFournosJob,
             .ns = std::move(ns),
             .name = options.name,
             .what_runs = "what runs",
             .goes_on = "the jobs go on",
             .patience = patience.away},
            {.shown = [this](const Object& job) { show(job); },
             .gone = [this](const Key& job) { show_gone(job); },
             .tick = [this](Instant now) { report_unseen(now); }}) {}

bool JobWatch::shows_table() const {
  return options_.output == Output::Table || options_.output == Output::Wide;
}

int JobWatch::run() {
  if (shows_table()) {
    out_.print(
        Table(job_header(options_.all_namespaces), live_widths(options_.all_namespaces)).text());
  }
  return list_.run();
}

void JobWatch::show(const Object& job) {
  if (job.status()["phase"].as_string().empty()) {
    unseen_.emplace(job.key(), job);
  } else {
    unseen_.erase(job.key());
  }
  if (!shows_table()) {
    return out_.print(render({job}, options_.output, true, api::kFournosJob));
  }
  const bool wide = options_.output == Output::Wide;
  const Table table(job_row(job, options_.all_namespaces, wide),
                    live_widths(options_.all_namespaces));
  out_.print(table.text(wide ? 0 : out_.columns()));
}

void JobWatch::show_gone(const Key& job) {
  unseen_.erase(job);
  if (!shows_table()) {
    return;
  }
  std::vector<std::string> row(job_header(options_.all_namespaces).size(), "-");
  std::size_t column = 0;
  if (options_.all_namespaces) {
    row[column++] = job.ns;
  }
  row[column] = job.name;
  row[column + 2] = "Gone";
  out_.print(Table(std::move(row), live_widths(options_.all_namespaces)).text());
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
