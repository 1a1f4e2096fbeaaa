// SPDX-License-Identifier: Apache-2.0
// Pure descriptions of jobs, clusters and schedules.
#include <fmt/format.h>

#include <algorithm>

#include "systems/fournos/recurring_messages.hpp"
#include "systems/fournos/schedules/resume.hpp"
#include "views/cluster_view.hpp"
#include "views/describe.hpp"
#include "views/job_labels.hpp"
#include "views/job_view.hpp"
#include "views/reasons.hpp"

namespace athanor::views {
namespace {

// A task from its start to its end, with the code of a step that failed.
void add_task(Description& description, const Object& run) {
  const auto started = parse_time(run.status()["startTime"].as_string());
  const auto began = started ? started : run.creation_time();  // until a controller has seen it
  const auto ended = parse_time(run.status()["completionTime"].as_string());
  if (!began) {
    return;
  }
  const std::string_view task = run.label(kPipelineTaskLabel);
  std::string what = fmt::format("task {}", task.empty() ? run.name() : task);
  for (const Value& step : run.status()["steps"].items()) {
    const std::int64_t code = step["terminated"]["exitCode"].as_int();
    if (code != 0) {
      what += fmt::format(", {} exited with code {}", step["container"].as_string(), code);
    }
  }
  description.timeline.push_back({.at = *began,
                                  .what = std::move(what),
                                  .lasted = ended ? std::optional(*ended - *began) : std::nullopt});
}

// Adds the jobs that hold the described cluster.
void add_jobs_on(Description& description, const std::vector<Object>& jobs) {
  for (const Object& job : jobs) {
    if (job.status()["cluster"].as_string() == description.name && !is_over(job)) {
      add_child(description, job);
    }
  }
}

std::string joined_names(const Value& list) {
  std::string text;
  for (const Value& item : list.items()) {
    text += (text.empty() ? "" : ", ") + item.str();
  }
  return text;
}

constexpr std::size_t kShownRuns = 20;

// A start is a Job of the CronJob; the FournosJob that it submits has its name.
void add_start(Description& description, const Object& run) {
  const auto started = parse_time(run.status()["startTime"].as_string());
  const auto began = started ? started : run.creation_time();  // until a controller has seen it
  const auto ended = parse_time(run.status()["completionTime"].as_string());
  if (!began) {
    return;
  }
  description.timeline.push_back({.at = *began,
                                  .what = fmt::format("start {}", run.name()),
                                  .lasted = ended ? std::optional(*ended - *began) : std::nullopt});
}

void add_state(Description& description, const Object& schedule, const ScheduleState& state) {
  const Value& spec = schedule.spec();
  add_fact(description, "State", std::string(state.phase()));
  if (state.paused) {
    add_fact(description, "Paused until",
             std::string(schedule.annotation(is_recurring(schedule) ? fournos::name::kRecurringPause
                                                                    : fournos::kPausedUntil)));
  }
  add_fact(description, "Schedule", state.cron);
  add_fact(description, "Zone", state.zone.empty() ? "UTC" : state.zone);
  add_fact(description, "Overlap",
           spec["concurrencyPolicy"].str().empty() ? "Allow" : spec["concurrencyPolicy"].str());
  if (spec.contains("startingDeadlineSeconds")) {
    add_fact(description, "Deadline", fmt::format("{}s", spec["startingDeadlineSeconds"].as_int()));
  }
  add_fact(description, "Project", state.project);
  add_fact(description, "Pipeline", state.pipeline);
  add_fact(description, "Cluster", state.cluster);
  add_fact(description, "Owner", state.owner);
  add_fact(description, "Last start", state.last_start ? format_time(*state.last_start) : "never");
  if (!is_recurring(schedule)) {
    add_fact(description, "Submitting now", std::to_string(state.running));
  }
}

// Adds how many starts of the last week led to no job, and the newest of them.
void add_absent(Description& description, const Object& schedule, const std::vector<Object>& runs,
                Instant now, const FindZone& find) {
  ScheduleRuns known;
  for (const Object& run : runs) {
    if (run.kind() == "Job") {
      known.jobs.push_back(run);
    } else {
      known.created.push_back(run.creation_time().value_or(Instant()));
    }
  }
  const auto absent = absent_starts(schedule, known, now, find);
  if (!absent || absent->starts.empty()) {
    return;
  }
  const AbsentStart& newest = absent->starts.front();
  add_fact(description, "Starts without a job",
           fmt::format("{} since {}; the newest at {}: {}", absent->total,
                       format_time(absent->since), format_time(newest.at), newest.message));
}

}  // namespace

Description describe_job(const Object& job, const std::vector<Object>& children, Instant now) {
  Description description{.kind = std::string(job.kind()),
                          .ns = std::string(job.ns()),
                          .name = std::string(job.name())};
  const Value& spec = job.spec();
  const Value& status = job.status();
  std::vector<Object> runs;
  std::ranges::copy_if(children, std::back_inserter(runs),
                       [](const Object& one) { return one.kind() == "TaskRun"; });
  const FailureCauses causes = failure_causes(runs);
  const auto cause = causes.find(job.key());
  add_fact(description, "Phase", status["phase"].str());
  add_fact(description, "Message", clear_reason(status["message"].as_string()));
  if (status["phase"].as_string() == "Failed" && cause != causes.end()) {
    add_fact(description, "Cause", cause->second);
  }
  add_fact(description, "Owner", spec["owner"].str());
  add_fact(description, "Cluster",
           status["cluster"].str().empty() ? spec["cluster"].str() : status["cluster"].str());
  if (spec["hardware"]["gpuCount"].as_int() > 0) {
    add_fact(description, "GPUs",
             fmt::format("{} {}", spec["hardware"]["gpuCount"].as_int(),
                         spec["hardware"]["gpuType"].as_string()));
  }
  add_fact(description, "Priority", spec["priority"].str());
  add_fact(description, "Pipeline", spec["pipeline"].str());
  add_fact(description, "Project", spec["forge"]["project"].str());
  add_fact(description, "Arguments", joined_names(spec["forge"]["args"]));
  if (const auto start = start_of_job(job)) {
    add_fact(description, "Start", format_time(*start));
  }
  if (const auto lasted = duration_of_job(job, now)) {
    add_fact(description, "Duration", format_age(*lasted));
  }
  if (status["evictions"].as_int() > 0) {
    add_fact(description, "Evictions", std::to_string(status["evictions"].as_int()));
  }
  add_conditions(description, job);
  for (const Object& run : runs) {
    add_task(description, run);
  }
  for (const Object& child : children) {
    add_child(description, child);
  }
  finish_timeline(description, is_over(job) ? std::nullopt : std::optional(now));
  return description;
}

Description describe_cluster(const Object& cluster, const std::vector<Object>& jobs,
                             const std::vector<Object>& cluster_queues) {
  Description description{.kind = std::string(cluster.kind()),
                          .ns = std::string(cluster.ns()),
                          .name = std::string(cluster.name())};
  const Value& spec = cluster.spec();
  const Value& status = cluster.status();
  const ClusterUse use = cluster_use(cluster_queues, cluster.name());
  add_fact(description, "State", usable_state(cluster));
  add_fact(description, "GPUs", status["gpuSummary"].str());
  add_fact(description, "In use", use.details);
  add_fact(description, "Queues", use.queues);
  add_fact(description, "Owner", spec["owner"].str());
  add_fact(description, "Lock", status["lockState"].str());
  add_fact(description, "Lock expires", status["lockExpiresAt"].str());
  add_fact(description, "Lock job", status["lockJobName"].str());
  add_fact(description, "Kubeconfig", spec["kubeconfigSecret"].str());
  add_fact(description, "Last probe", status["lastProbeTime"].str());
  add_fact(description, "Server version", status["serverVersion"].str());
  if (status.contains("nodeCount")) {
    add_fact(description, "Nodes", std::to_string(status["nodeCount"].as_int()));
  }
  for (const std::string& trouble : cluster_troubles(cluster)) {
    description.why += trouble + "\n";
  }
  add_conditions(description, cluster);
  add_jobs_on(description, jobs);
  finish_timeline(description, std::nullopt);
  return description;
}

Description describe_bare_cluster(const Object& flavor, const std::vector<Object>& jobs,
                                  const std::vector<Object>& cluster_queues,
                                  std::string_view clusters_ns) {
  Description description{.kind = std::string(flavor.kind()), .name = std::string(flavor.name())};
  const ClusterUse use = cluster_use(cluster_queues, flavor.name());
  add_fact(description, "GPUs", use.gpus);
  add_fact(description, "In use", use.details);
  add_fact(description, "Queues", use.queues);
  description.why = unmanaged_text(flavor.name(), clusters_ns) + "\n";
  add_conditions(description, flavor);
  add_jobs_on(description, jobs);
  finish_timeline(description, std::nullopt);
  return description;
}

Description describe_schedule(const Object& schedule, const std::vector<Object>& runs, Instant now,
                              const FindZone& find) {
  Description description{.kind = std::string(schedule.kind()),
                          .ns = std::string(schedule.ns()),
                          .name = std::string(schedule.name())};
  const ScheduleState state = schedule_state(schedule, now, find);
  add_state(description, schedule, state);
  for (std::size_t i = 0; i < state.next.size(); ++i) {
    const NextStart& start = state.next[i];
    add_fact(description, fmt::format("Next start {}", i + 1),
             fmt::format("{} (in {})", start.local_text(), format_age(start.at - now)));
  }
  if (state.paused) {
    description.why =
        fmt::format("paused: nothing starts until athanor schedules resume {}\n", schedule.name());
  } else if (!state.problem.empty()) {
    description.why = state.problem + "\n";
  }
  add_absent(description, schedule, runs, now, find);
  add_conditions(description, schedule);
  std::vector<Object> newest = runs;
  std::ranges::stable_sort(newest, std::ranges::greater{}, [](const Object& run) {
    return run.creation_time().value_or(Instant());
  });
  newest.resize(std::min(newest.size(), kShownRuns));
  for (const Object& run : newest) {
    if (run.kind() == "Job") {
      add_start(description, run);
    }
    add_child(description, run);
  }
  finish_timeline(description, std::nullopt);
  return description;
}

}  // namespace athanor::views
