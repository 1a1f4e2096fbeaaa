// SPDX-License-Identifier: Apache-2.0
// Gauges from the FournosJobs, counters from their changes, and from reconciles and writes.
#include "systems/fournos/instruments.hpp"

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/kueue.hpp"
#include "kube/value/condition.hpp"
#include "systems/fournos/job.hpp"
#include "systems/fournos/kinds/fournos_job.hpp"
#include "systems/fournos/messages.hpp"
#include "systems/fournos/operators.hpp"
#include "systems/fournos/settings.hpp"

namespace athanor::fournos {
namespace {

constexpr std::string_view kJobs = "fournos_jobs";
constexpr std::string_view kWaitingSince = "fournos_jobs_waiting_since_timestamp_seconds";
constexpr std::string_view kFailuresInARow = "fournos_failures_in_a_row";
constexpr std::string_view kPhaseSeconds = "fournos_job_phase_seconds";
constexpr std::string_view kFinished = "fournos_jobs_finished_total";
constexpr std::string_view kReconcileSeconds = "fournos_reconcile_seconds";
constexpr std::string_view kReconcileErrors = "fournos_reconcile_errors_total";
constexpr std::string_view kCollected = "fournos_gc_deleted_total";
constexpr std::string_view kEvictions = "fournos_evictions_total";

// From a phase that is passed at once to a run of a day.
constexpr double kPhaseBuckets[] = {0.1, 1, 5, 15, 60, 300, 900, 3600, 4 * 3600, 24 * 3600};

constexpr MetricInfo kMetrics[] = {
    {.name = kJobs, .help = "FournosJobs by phase."},
    {.name = kWaitingSince,
     .help = "Since when the first of the pending jobs has waited, by requested cluster."},
    {.name = kFailuresInARow,
     .help = "Failed jobs of a cluster since its last job that succeeded, of those that exist."},
    {.name = kPhaseSeconds,
     .help = "How long jobs were in the phase that they left.",
     .type = MetricType::Histogram,
     .buckets = kPhaseBuckets},
    {.name = kFinished,
     .help = "Jobs that ended, by their last phase and cluster.",
     .type = MetricType::Counter},
    {.name = kReconcileSeconds,
     .help = "From a reconcile's beginning to the answer to its last write.",
     .type = MetricType::Histogram},
    {.name = kReconcileErrors,
     .help = "Reconciles that ended with an error, by controller and status code.",
     .type = MetricType::Counter},
    {.name = kCollected,
     .help = "Children deleted because their job was gone or over, by kind.",
     .type = MetricType::Counter},
    {.name = kEvictions, .help = "Evictions of jobs' Workloads.", .type = MetricType::Counter},
};

std::string_view phase_of(const Object* job) {
  return job == nullptr ? std::string_view() : job->status()["phase"].as_string();
}

// Returns true for jobs that hold a cluster and run nothing.
bool is_lock(const Object& job) {
  const Value& only = job.spec()["lockOnly"];
  return only.is_null() ? !job.spec()["lockUntil"].as_string().empty() : only.as_bool();
}

// Returns the start of a pending job's wait: its last loss of admission, or its creation.
Instant waiting_since(const Object& job) {
  const Value& admitted = find_condition(job.status()["conditions"], "WorkloadAdmitted");
  const auto lost = admitted["status"].as_string() == "False"
                        ? parse_time(admitted["lastTransitionTime"].as_string())
                        : std::nullopt;
  return lost ? *lost : job.creation_time().value_or(Instant());
}

void put_waits(const std::vector<Object>& jobs, Samples& samples) {
  std::map<std::string, Instant> first;
  for (const Object& job : jobs) {
    if (phase_of(&job) == phase::kPending && !is_lock(job)) {
      const Instant since = waiting_since(job);
      const auto [at, added] = first.try_emplace(job.spec()["cluster"].str(), since);
      at->second = std::min(at->second, since);
    }
  }
  for (const auto& [cluster, since] : first) {
    const auto seconds = std::chrono::floor<std::chrono::seconds>(since.time_since_epoch());
    samples.push_back({.metric = kWaitingSince,
                       .labels = {{"cluster", cluster}},
                       .value = static_cast<double>(seconds.count())});
  }
}

// Jobs that were stopped end no row: they say nothing about the cluster.
void put_failures(const std::vector<Object>& jobs, Samples& samples) {
  std::map<std::string, std::vector<std::pair<Instant, bool>>> ends;
  for (const Object& job : jobs) {
    const std::string_view phase = phase_of(&job);
    const std::string cluster = job.status()["cluster"].str();
    if ((phase == phase::kFailed || phase == phase::kSucceeded) && !cluster.empty() &&
        !is_lock(job)) {
      ends[cluster].emplace_back(ended_at(job), phase == phase::kFailed);
    }
  }
  for (auto& [cluster, list] : ends) {
    std::ranges::sort(list, std::greater<>());
    const auto good = std::ranges::find(list, false, &std::pair<Instant, bool>::second);
    samples.push_back({.metric = kFailuresInARow,
                       .labels = {{"cluster", cluster}},
                       .value = static_cast<double>(good - list.begin())});
  }
}

void measure(const View& view, Samples& samples) {
  const auto settings = api::decode<Settings>(view.config("fournos"));
  const auto jobs = view.list(api::kFournosJob, {.ns = settings.workload_namespace});
  std::map<std::string, double, std::less<>> phases;
  for (const Object& job : jobs) {
    const std::string_view phase = phase_of(&job);
    phases[phase.empty() ? "New" : std::string(phase)] += 1;
  }
  put_counts(kJobs, "phase", phases, samples);
  put_waits(jobs, samples);
  put_failures(jobs, samples);
}

void tally_job(const ObjectChanged& change, Samples& samples) {
  const std::string uid((change.after != nullptr ? change.after : change.before)->uid());
  const std::string_view before = phase_of(change.before);
  const std::string_view after = phase_of(change.after);
  if (change.after == nullptr || (before != after && is_terminal(after))) {
    samples.push_back({.metric = kPhaseSeconds, .act = Sample::Act::Leave, .key = uid});
  } else if (before != after) {
    samples.push_back({.metric = kPhaseSeconds,
                       .labels = {{"phase", std::string(after)}},
                       .act = change.before == nullptr ? Sample::Act::Begin : Sample::Act::Enter,
                       .key = uid});
  }
  if (change.before != nullptr && change.after != nullptr && is_terminal(after) &&
      !is_terminal(before)) {
    samples.push_back({.metric = kFinished,
                       .labels = {{"result", std::string(after)},
                                  {"cluster", change.after->status()["cluster"].str()}}});
  }
}

// The condition of an eviction; Null while there is none.
const Value& eviction_condition_of(const Object& workload) {
  static const Value kNone{};
  const Value& evicted = find_condition(workload.status()["conditions"], "Evicted");
  return evicted["status"].as_string() == "True" ? evicted : kNone;
}

void tally_workload(const ObjectChanged& change, Samples& samples) {
  if (change.before == nullptr || change.after == nullptr) {
    return;
  }
  const auto owner = change.after->controller();
  const Value& evicted = eviction_condition_of(*change.after);
  if (!owner || owner->kind != api::kFournosJob.name || evicted.is_null() ||
      eviction_condition_of(*change.before)["lastTransitionTime"] ==
          evicted["lastTransitionTime"]) {
    return;
  }
  samples.push_back({.metric = kEvictions, .labels = {{"reason", evicted["reason"].str()}}});
}

void count_change(const ObjectChanged& change, Samples& samples) {
  if (&change.kind == &api::kFournosJob) {
    tally_job(change, samples);
  } else if (&change.kind == &api::kueue::kWorkload) {
    tally_workload(change, samples);
  }
}

void count_write(const WriteAnswered& answer, Samples& samples) {
  const bool collects = is_one_of(fournos_gc_operators(), answer.op);
  if (collects && answer.step == "delete" && answer.code == 0) {
    samples.push_back({.metric = kCollected, .labels = {{"kind", std::string(answer.kind.name)}}});
  }
}

void count_reconcile(const Reconciled& run, Samples& samples) {
  if (!is_one_of(fournos_operators(), run.op)) {
    return;
  }
  put_seconds(kReconcileSeconds, {}, run.took, samples);
  if (run.code != 0) {
    samples.push_back(
        {.metric = kReconcileErrors,
         .labels = {{"op", std::string(run.op)}, {"code", std::to_string(run.code)}}});
  }
}

constexpr const Kind* kKinds[] = {&api::kFournosJob, &api::kueue::kWorkload};

}  // namespace

const Instruments& fournos_instruments() {
  static constexpr Instruments kInstruments{
      .metrics = kMetrics,
      .kinds = kKinds,
      .state = measure,
      .changed = count_change,
      .written = count_write,
      .reconciled = count_reconcile,
  };
  return kInstruments;
}

}  // namespace athanor::fournos
