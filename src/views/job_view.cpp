// SPDX-License-Identifier: Apache-2.0
#include "views/job_view.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "kube/value/condition.hpp"
#include "views/job_labels.hpp"
#include "views/reasons.hpp"
#include "views/texts.hpp"

namespace athanor::views {
namespace {

// Schemas without completionTime have conditions that change at the end.
std::optional<Instant> end_of(const Object& job) {
  if (!is_over(job)) {
    return std::nullopt;
  }
  auto end = parse_time(job.status()["completionTime"].as_string());
  if (end) {
    return end;
  }
  for (const Value& condition : job.status()["conditions"].items()) {
    const auto at = parse_time(condition["lastTransitionTime"].as_string());
    end = at && (!end || *at > *end) ? at : end;
  }
  return end;
}

// "2026-01-31 08:00:05", in UTC as all times of the API.
std::string start_text(const Object& job) {
  const auto start = start_of_job(job);
  if (!start) {
    return "-";
  }
  std::string text = format_time(*start);
  text.replace(text.find('T'), 1, " ");
  text.pop_back();
  return text;
}

}  // namespace

const std::vector<std::string>& job_phases() {
  static const std::vector<std::string> kPhases{"Scheduled", "Recurring", "Resolving", "Pending",
                                                "Admitted",  "Running",   "Stopping",  "Succeeded",
                                                "Failed",    "Stopped"};
  return kPhases;
}

bool is_over(const Object& job) {
  const std::string_view phase = job.status()["phase"].as_string();
  return phase == "Succeeded" || phase == "Failed" || phase == "Stopped";
}

std::optional<Instant> start_of_job(const Object& job) {
  const Value& admitted = find_condition(job.status()["conditions"], "WorkloadAdmitted");
  return admitted["status"].as_string() == "True"
             ? parse_time(admitted["lastTransitionTime"].as_string())
             : std::nullopt;
}

std::optional<Duration> duration_of_job(const Object& job, Instant now) {
  const auto start = start_of_job(job);
  const auto end = is_over(job) ? end_of(job) : std::optional(now);
  return start && end && *end >= *start ? std::optional(*end - *start) : std::nullopt;
}

FailureCauses failure_causes(const std::vector<Object>& task_runs) {
  FailureCauses causes;
  std::map<Key, std::string> ends;  // of the failed steps
  for (const Object& run : task_runs) {
    const Key job{std::string(run.ns()), std::string(run.label(kJobNameLabel))};
    for (const Value& step : run.status()["steps"].items()) {
      const Value& terminated = step["terminated"];
      const std::int64_t code = terminated["exitCode"].as_int();
      if (job.name.empty() || !terminated.is_object() || code == 0) {
        continue;
      }
      const std::string end = terminated["finishedAt"].str();
      const auto known = ends.find(job);
      if (known == ends.end() || end < known->second) {
        ends[job] = end;
        std::string name = step["container"].str();
        name = name.empty() ? "step-" + step["name"].str() : name;
        causes[job] = fmt::format("{} exited with code {}", name, code);
      }
    }
  }
  return causes;
}

std::vector<std::string> job_header(const JobColumns& columns) {
  std::vector<std::string> header{"NAME",  "OWNER",    "PHASE", "CLUSTER",
                                  "START", "DURATION", "AGE",   "MESSAGE"};
  if (columns.with_namespace) {
    header.insert(header.begin(), "NAMESPACE");
  }
  return header;
}

ListRow job_row(const Object& job, const JobColumns& columns, const std::string& cause,
                Instant now) {
  ListRow row{.object = job,
              .traits = {.phase = job.status()["phase"].str(), .owner = job.spec()["owner"].str()}};
  if (columns.with_namespace) {
    row.cells.emplace_back(job.ns());
  }
  const auto duration = duration_of_job(job, now);
  const std::string message = job.status()["message"].str();
  const bool failed = row.traits.phase == "Failed" && !cause.empty();
  for (std::string cell :
       {std::string(job.name()), row.traits.owner, row.traits.phase, job.status()["cluster"].str(),
        start_text(job), duration ? format_age(*duration) : "-", age_text(job, now),
        failed         ? cause
        : columns.wide ? message
                       : clear_reason(message)}) {
    row.cells.push_back(std::move(cell));
  }
  return row;
}

Listing job_listing(std::vector<Object> jobs, const FailureCauses& causes,
                    const JobColumns& columns, Instant now) {
  std::ranges::stable_sort(jobs, std::greater(), [](const Object& job) {
    return job.metadata()["creationTimestamp"].str();
  });
  Listing listing{.titles = job_header(columns)};
  for (const Object& job : jobs) {
    const auto cause = causes.find(job.key());
    listing.rows.push_back(
        job_row(job, columns, cause == causes.end() ? std::string() : cause->second, now));
  }
  return listing;
}

}  // namespace athanor::views
