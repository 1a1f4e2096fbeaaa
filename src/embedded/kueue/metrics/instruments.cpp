// SPDX-License-Identifier: Apache-2.0
// The table of the queueing's metrics.
#include "embedded/kueue/metrics/instruments.hpp"

#include <string>
#include <utility>

#include "api/builtin.hpp"
#include "api/kueue.hpp"
#include "embedded/kueue/metrics/names.hpp"
#include "embedded/kueue/metrics/samples.hpp"

namespace athanor::kueue {
namespace {

using namespace metric;

constexpr double kWaits[] = {1, 2.5, 5, 10, 20, 40, 80, 160, 320, 640, 1280, 2560, 5120, 10240};

constexpr MetricInfo counter(std::string_view name, std::string_view help) {
  return {.name = name, .help = help, .type = MetricType::Counter};
}
constexpr MetricInfo waits(std::string_view name, std::string_view help) {
  return {.name = name, .help = help, .type = MetricType::Histogram, .buckets = kWaits};
}

constexpr MetricInfo kMetrics[] = {
    counter(kAttempts, "Attempts to admit a Workload, by result."),
    {.name = kAttemptSeconds,
     .help = "How long an admission cycle took, its writes included.",
     .type = MetricType::Histogram},
    {.name = kSkips, .help = "Workloads that wait because others took their preemption targets."},
    {.name = kPending, .help = "Workloads that wait, by ClusterQueue and status."},
    counter(kReserved, "Workloads that quota was reserved for."),
    waits(kReservedWait, "From being queued to the reservation of quota."),
    counter(kAdmitted, "Workloads that were admitted."),
    waits(kAdmissionWait, "From being queued to admission."),
    waits(kChecksWait, "From the reservation of quota to admission."),
    waits(kReadyWait, "From being queued until the pods were ready."),
    waits(kAdmittedUntilReady, "From admission until the pods were ready."),
    counter(kEvicted, "Evictions, by reason."),
    counter(kEvictedOnce, "Workloads that were evicted for the first time, by reason."),
    counter(kPreempted, "Workloads that others pushed aside, by whose queue."),
    counter(kFinished, "Workloads that finished."),
    {.name = kFinishedNow, .help = "Finished Workloads that are there, by ClusterQueue."},
    waits(kReadyUntilEvicted, "From ready pods to the eviction, by reason."),
    {.name = kReserving, .help = "Workloads that hold quota."},
    {.name = kActive, .help = "Workloads that are admitted and not finished."},
    {.name = kQueueStatus, .help = "1 for the status that a ClusterQueue has."},
    {.name = kResourceReservation, .help = "Quota reserved."},
    {.name = kResourceUsage, .help = "Quota used by admitted Workloads."},
    {.name = kNominal, .help = "Nominal quota."},
    {.name = kBorrowing, .help = "Borrowing limit."},
    {.name = kLending, .help = "Lending limit."},
    {.name = kShare, .help = "Weighted share of a ClusterQueue."},
    {.name = kCohortShare, .help = "Weighted share of a Cohort."},
    {.name = kCohortQuota, .help = "Nominal quota of a cohort and all below it."},
    {.name = kCohortReservations, .help = "Quota reserved in a cohort and all below it."},
    {.name = kCohortActive, .help = "Admitted Workloads in a cohort and all below it."},
    {.name = kLocalPending, .help = "Workloads that wait, by LocalQueue and status."},
    {.name = kLocalReserving, .help = "Workloads of a LocalQueue that hold quota."},
    {.name = kLocalActive, .help = "Workloads of a LocalQueue that are admitted."},
    {.name = kLocalStatus, .help = "1 for the status of a LocalQueue's condition Active."},
    counter(kLocalReserved, "Workloads of a LocalQueue that quota was reserved for."),
    waits(kLocalReservedWait, "From being queued to the reservation of quota, by LocalQueue."),
    counter(kLocalAdmitted, "Workloads of a LocalQueue that were admitted."),
    waits(kLocalAdmissionWait, "From being queued to admission, by LocalQueue."),
    waits(kLocalChecksWait, "From the reservation of quota to admission, by LocalQueue."),
    waits(kLocalReadyWait, "From being queued until the pods were ready, by LocalQueue."),
    waits(kLocalAdmittedUntilReady, "From admission until the pods were ready, by LocalQueue."),
    counter(kLocalEvicted, "Evictions of Workloads of a LocalQueue, by reason."),
    counter(kLocalFinished, "Workloads of a LocalQueue that finished."),
    {.name = kLocalFinishedNow, .help = "Finished Workloads of a LocalQueue that are there."},
    {.name = kLocalResourceReservation, .help = "Quota reserved by Workloads of a LocalQueue."},
    {.name = kLocalResourceUsage, .help = "Quota used by admitted Workloads of a LocalQueue."},
    {.name = kBuild, .help = "1, with what this queueing is.", .without_role = true},
};

constexpr const Kind* kKinds[] = {&api::kueue::kWorkload, &api::kueue::kClusterQueue,
                                  &api::kueue::kLocalQueue, &api::kueue::kCohort, &api::kConfigMap};

// A queue that is gone takes with it what was counted for it, as in the reference.
void count(const ObjectChanged& change, Samples& samples) {
  count_change(change, samples);
  const bool cluster = &change.kind == &api::kueue::kClusterQueue;
  if (change.before == nullptr || change.after != nullptr ||
      (!cluster && &change.kind != &api::kueue::kLocalQueue)) {
    return;
  }
  const std::string name(change.before->name());
  const auto clear = [&](const MetricInfo& info, MetricLabels labels) {
    samples.push_back(
        {.metric = info.name, .labels = std::move(labels), .act = Sample::Act::Clear});
  };
  for (const MetricInfo& info : kMetrics) {
    if (info.type == MetricType::Gauge) {
      continue;  // computed from what there is
    }
    if (!cluster) {
      clear(info, {{"name", name}, {"namespace", std::string(change.before->ns())}});
    } else if (info.name == kPreempted) {
      clear(info, {{"preempting_cluster_queue", name}});
    } else {
      clear(info, {{"cluster_queue", name}});
    }
  }
}

}  // namespace

const Instruments& kueue_instruments() {
  static constexpr Instruments kInstruments{.metrics = kMetrics,
                                            .kinds = kKinds,
                                            .role_label = "replica_role",
                                            .state = measure_queues,
                                            .changed = count,
                                            .reconciled = count_cycle};
  return kInstruments;
}

}  // namespace athanor::kueue
