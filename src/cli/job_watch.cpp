// SPDX-License-Identifier: Apache-2.0
#include "cli/job_watch.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <set>
#include <utility>

#include "base/clock.hpp"
#include "cli/reasons.hpp"
#include "cli/unseen.hpp"
#include "kube/text/json.hpp"
#include "systems/fournos/kinds/fournos_job.hpp"

namespace athanor::cli {
namespace {

constexpr Duration kPoll = std::chrono::milliseconds(250);
constexpr int kGone = 410;

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
      ns_(std::move(ns)),
      options_(options),
      patience_(patience),
      out_(STDOUT_FILENO),
      reconnection_("what runs", patience.away) {}

bool JobWatch::shows_table() const {
  return options_.output == Output::Table || options_.output == Output::Wide;
}

std::string JobWatch::path() const {
  std::string url = Session::path(api::kFournosJob, ns_) + "?";
  if (!options_.name.empty()) {
    url += "fieldSelector=" + client::escape("metadata.name=" + options_.name) + "&";
  }
  return url;
}

int JobWatch::run() {
  if (shows_table()) {
    out_.print(
        Table(job_header(options_.all_namespaces), live_widths(options_.all_namespaces)).text());
  }
  while (!error_) {
    const Instant now = wall_clock()->now();
    if (interrupt_.came()) {
      return kInterrupted;
    }
    if (reconnection_.lost(now)) {
      Terminal(STDERR_FILENO)
          .print(fmt::format("athanor: the API server is away ({}); the jobs go on\n",
                             reconnection_.why()));
      return kOutcomeUnknown;
    }
    if (!open_ && reconnection_.due(now)) {
      connect(now);
    }
    session_.connection().run(kPoll);
    report_unseen(now);
  }
  return fail(*error_);
}

// Lists where the watch cannot go on: shows what changed in between, reports what is gone.
void JobWatch::connect(Instant now) {
  if (version_.empty()) {
    const auto list = session_.connection().call({.path = path()});
    if (!list.ok()) {
      return refused(list.error(), now);
    }
    reconnection_.answered();
    version_ = (*list)["metadata"]["resourceVersion"].str();
    std::set<std::string> there;
    for (Value item : (*list)["items"].items()) {
      item.set("apiVersion", api::kFournosJob.api_version());
      item.set("kind", api::kFournosJob.name);
      const Object job(std::move(item));
      there.insert(job.key().text());
      show(job);
    }
    for (auto entry = shown_.begin(); entry != shown_.end();) {
      if (there.contains(entry->first)) {
        ++entry;
        continue;
      }
      const std::string& key = entry->first;
      const std::size_t slash = key.find('/');
      show_gone(
          Object(Value::object({{"metadata", Value::object({{"namespace", key.substr(0, slash)},
                                                            {"name", key.substr(slash + 1)}})}})));
      unseen_.erase(key);
      entry = shown_.erase(entry);
    }
  }
  open();
}

void JobWatch::open() {
  open_ = true;
  stream_ =
      session_.connection().stream(fmt::format("{}watch=true&resourceVersion={}", path(), version_),
                                   {.line = [this](std::string_view line) { on_line(line); },
                                    .ended =
                                        [this](const Result<void>& outcome) {
                                          open_ = false;
                                          if (!outcome.ok()) {
                                            version_.clear();
                                            refused(outcome.error(), wall_clock()->now());
                                          }
                                        }});
}

void JobWatch::refused(const Error& error, Instant now) {
  const bool starts = reconnection_.away() && (error.code == 401 || error.code == 403);
  if (error.code == kGone) {
    return;
  }
  if (is_passing(error) || starts) {
    reconnection_.failed(error, now);
  } else {
    error_ = error;
  }
}

void JobWatch::on_line(std::string_view line) {
  const auto event = json::parse(line);
  if (!event.ok()) {
    return;
  }
  const std::string_view type = (*event)["type"].as_string();
  const Object job((*event)["object"]);
  if (type == "ERROR") {
    version_.clear();
    stream_.reset();
    open_ = false;
    return;
  }
  reconnection_.answered();
  version_ = std::string(job.resource_version());
  if (type == "DELETED") {
    show_gone(job);
    shown_.erase(job.key().text());
    unseen_.erase(job.key().text());
  } else if (type != "BOOKMARK") {
    show(job);
  }
}

void JobWatch::show(const Object& job) {
  const std::string key = job.key().text();
  std::string& version = shown_[key];
  if (std::exchange(version, std::string(job.resource_version())) == job.resource_version()) {
    return;
  }
  if (job.status()["phase"].as_string().empty()) {
    unseen_.emplace(key, job);
  } else {
    unseen_.erase(key);
  }
  if (!shows_table()) {
    return out_.print(render({job}, options_.output, true, api::kFournosJob));
  }
  const bool wide = options_.output == Output::Wide;
  const Table table(job_row(job, options_.all_namespaces, wide),
                    live_widths(options_.all_namespaces));
  out_.print(table.text(wide ? 0 : out_.columns()));
}

void JobWatch::show_gone(const Object& job) {
  if (!shows_table()) {
    return;
  }
  std::vector<std::string> row(job_header(options_.all_namespaces).size(), "-");
  std::size_t column = 0;
  if (options_.all_namespaces) {
    row[column++] = std::string(job.ns());
  }
  row[column] = std::string(job.name());
  row[column + 2] = "Gone";
  out_.print(Table(std::move(row), live_widths(options_.all_namespaces)).text());
}

void JobWatch::report_unseen(Instant now) {
  if (reconnection_.away()) {
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
