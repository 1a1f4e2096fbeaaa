// SPDX-License-Identifier: Apache-2.0
#include "views/job_view.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "kube/value/condition.hpp"
#include "systems/fournos/job.hpp"
#include "views/job_labels.hpp"
#include "views/reasons.hpp"
#include "views/texts.hpp"

namespace athanor::views {
namespace {

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

// The end of a course. Conditions have whole seconds and phases that were seen do not, so that
// those of the last second would come after the end.
std::optional<Instant> end_of(const JobCourse& course) {
  for (const PhaseMoment& one : course.seen) {
    if (course.ended && fournos::is_terminal(one.phase) && one.at >= *course.ended &&
        one.at - *course.ended < std::chrono::seconds(1)) {
      return one.at;
    }
  }
  return course.ended;
}

}  // namespace

const std::vector<std::string>& job_phases() {
  static const std::vector<std::string> kPhases{"Scheduled", "Recurring", "Resolving", "Pending",
                                                "Admitted",  "Running",   "Stopping",  "Succeeded",
                                                "Failed",    "Stopped"};
  return kPhases;
}

bool is_over(const Object& job) {
  return fournos::is_terminal(job.status()["phase"].as_string());
}

std::optional<Instant> start_of_job(const Object& job) {
  const Value& admitted = find_condition(job.status()["conditions"], "WorkloadAdmitted");
  return admitted["status"].as_string() == "True"
             ? parse_time(admitted["lastTransitionTime"].as_string())
             : std::nullopt;
}

std::optional<Instant> end_of_job(const Object& job) {
  return is_over(job) ? std::optional(fournos::ended_at(job)) : std::nullopt;
}

JobCourse course_of_job(const Object& job) {
  const Value& conditions = job.status()["conditions"];
  const auto changed = [&](std::string_view type, std::string_view status) {
    const Value& condition = find_condition(conditions, type);
    return condition["status"].as_string() == status
               ? parse_time(condition["lastTransitionTime"].as_string())
               : std::nullopt;
  };
  return {.phase = job.status()["phase"].str(),
          .created = job.creation_time(),
          .resolved = changed("Resolved", "True"),
          .admitted = start_of_job(job),
          .ran = changed("PipelineRunReady", "Unknown"),
          .ended = end_of_job(job)};
}

std::vector<PhaseSpan> phase_spans(const JobCourse& course) {
  std::vector<PhaseMoment> moments;
  // Phases that were seen have exact times; conditions give those before the first look. A
  // condition of the second of that look may be later than it: times of conditions are cut to
  // seconds.
  const auto add = [&](std::optional<Instant> at, std::string phase) {
    const Duration cut = moments.empty() ? Duration(1) : std::chrono::seconds(1);
    if (at && (course.seen.empty() || *at + cut <= course.seen.front().at)) {
      moments.push_back({.phase = std::move(phase), .at = *at});
    }
  };
  const bool resolves = course.resolved || course.phase == "Resolving" ||
                        (!course.seen.empty() && course.seen.front().phase == "Resolving");
  add(course.created, resolves ? "Resolving" : "Pending");
  add(course.resolved, "Pending");
  add(course.admitted, "Admitted");
  add(course.ran, "Running");
  std::ranges::stable_sort(moments, {}, &PhaseMoment::at);
  for (const PhaseMoment& one : course.seen) {
    if (!fournos::is_terminal(one.phase)) {
      moments.push_back({.phase = one.phase.empty() ? "Pending" : one.phase, .at = one.at});
    }
  }
  const std::optional<Instant> end = end_of(course);
  std::vector<PhaseSpan> spans;
  for (const PhaseMoment& one : moments) {
    if (end && one.at >= *end) {
      break;
    }
    if (!spans.empty() && spans.back().phase == one.phase) {
      continue;
    }
    if (!spans.empty()) {
      spans.back().to = one.at;
      if (spans.back().from >= one.at) {  // of no length
        spans.pop_back();
      }
    }
    spans.push_back({.phase = one.phase, .from = one.at});
  }
  if (end) {
    if (!spans.empty()) {
      spans.back().to = end;
    }
    spans.push_back({.phase = course.phase, .from = *end, .to = end});
  }
  return spans;
}

std::optional<Duration> duration_of_job(const Object& job, Instant now) {
  const auto start = start_of_job(job);
  const auto end = is_over(job) ? end_of_job(job) : std::optional(now);
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
       {std::string(job.name()), or_dash(row.traits.owner), or_dash(row.traits.phase),
        or_dash(job.status()["cluster"].str()), start_text(job),
        duration ? format_age(*duration) : "-", age_text(job, now),
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
