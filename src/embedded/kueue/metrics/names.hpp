// SPDX-License-Identifier: Apache-2.0
// The names of the queueing's metrics (docs/spec/kueue.md 14).
#pragma once

#include <string_view>

namespace athanor::kueue::metric {

// Names as in Kueue. `*_total` count up, `*_seconds` are histograms in seconds, the rest are
// gauges; names with local_queue have labels name and namespace of the LocalQueue.
inline constexpr std::string_view kAttempts = "kueue_admission_attempts_total";
inline constexpr std::string_view kAttemptSeconds = "kueue_admission_attempt_duration_seconds";
inline constexpr std::string_view kSkips = "kueue_admission_cycle_preemption_skips";
inline constexpr std::string_view kPending = "kueue_pending_workloads";
inline constexpr std::string_view kReserved = "kueue_quota_reserved_workloads_total";
inline constexpr std::string_view kReservedWait = "kueue_quota_reserved_wait_time_seconds";
inline constexpr std::string_view kAdmitted = "kueue_admitted_workloads_total";
inline constexpr std::string_view kAdmissionWait = "kueue_admission_wait_time_seconds";
inline constexpr std::string_view kChecksWait = "kueue_admission_checks_wait_time_seconds";
inline constexpr std::string_view kReadyWait = "kueue_ready_wait_time_seconds";
inline constexpr std::string_view kAdmittedUntilReady =
    "kueue_admitted_until_ready_wait_time_seconds";
inline constexpr std::string_view kEvicted = "kueue_evicted_workloads_total";
inline constexpr std::string_view kEvictedOnce = "kueue_evicted_workloads_once_total";
inline constexpr std::string_view kPreempted = "kueue_preempted_workloads_total";
inline constexpr std::string_view kFinished = "kueue_finished_workloads_total";
inline constexpr std::string_view kFinishedNow = "kueue_finished_workloads";
inline constexpr std::string_view kReadyUntilEvicted = "kueue_pods_ready_to_evicted_time_seconds";
inline constexpr std::string_view kReserving = "kueue_reserving_active_workloads";
inline constexpr std::string_view kActive = "kueue_admitted_active_workloads";
inline constexpr std::string_view kQueueStatus = "kueue_cluster_queue_status";
inline constexpr std::string_view kResourceReservation = "kueue_cluster_queue_resource_reservation";
inline constexpr std::string_view kResourceUsage = "kueue_cluster_queue_resource_usage";
inline constexpr std::string_view kNominal = "kueue_cluster_queue_nominal_quota";
inline constexpr std::string_view kBorrowing = "kueue_cluster_queue_borrowing_limit";
inline constexpr std::string_view kLending = "kueue_cluster_queue_lending_limit";
inline constexpr std::string_view kShare = "kueue_cluster_queue_weighted_share";
inline constexpr std::string_view kCohortShare = "kueue_cohort_weighted_share";
inline constexpr std::string_view kCohortQuota = "kueue_cohort_subtree_quota";
inline constexpr std::string_view kCohortReservations =
    "kueue_cohort_subtree_resource_reservations";
inline constexpr std::string_view kCohortActive = "kueue_cohort_subtree_admitted_active_workloads";
inline constexpr std::string_view kLocalPending = "kueue_local_queue_pending_workloads";
inline constexpr std::string_view kLocalReserving = "kueue_local_queue_reserving_active_workloads";
inline constexpr std::string_view kLocalActive = "kueue_local_queue_admitted_active_workloads";
inline constexpr std::string_view kLocalStatus = "kueue_local_queue_status";
inline constexpr std::string_view kLocalReserved =
    "kueue_local_queue_quota_reserved_workloads_total";
inline constexpr std::string_view kLocalReservedWait =
    "kueue_local_queue_quota_reserved_wait_time_seconds";
inline constexpr std::string_view kLocalAdmitted = "kueue_local_queue_admitted_workloads_total";
inline constexpr std::string_view kLocalAdmissionWait =
    "kueue_local_queue_admission_wait_time_seconds";
inline constexpr std::string_view kLocalChecksWait =
    "kueue_local_queue_admission_checks_wait_time_seconds";
inline constexpr std::string_view kLocalReadyWait = "kueue_local_queue_ready_wait_time_seconds";
inline constexpr std::string_view kLocalAdmittedUntilReady =
    "kueue_local_queue_admitted_until_ready_wait_time_seconds";
inline constexpr std::string_view kLocalEvicted = "kueue_local_queue_evicted_workloads_total";
inline constexpr std::string_view kLocalFinished = "kueue_local_queue_finished_workloads_total";
inline constexpr std::string_view kLocalFinishedNow = "kueue_local_queue_finished_workloads";
inline constexpr std::string_view kLocalResourceReservation =
    "kueue_local_queue_resource_reservation";
inline constexpr std::string_view kLocalResourceUsage = "kueue_local_queue_resource_usage";
inline constexpr std::string_view kBuild = "kueue_build_info";

}  // namespace athanor::kueue::metric
