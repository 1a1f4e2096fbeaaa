// SPDX-License-Identifier: Apache-2.0
// The kueue.x-k8s.io group as v1beta2 structs (docs/spec/kueue.md sections 2 and 3). v1beta1 exists
// as a schema alone: the server converts between the two as Values. Stored but without
// behaviour: Topology, MultiKueueConfig, MultiKueueCluster, ProvisioningRequestConfig.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "api/describe.hpp"
#include "base/time.hpp"
#include "kube/text/quantity.hpp"
#include "kube/value/kind.hpp"
#include "kube/value/object.hpp"
#include "kube/value/value.hpp"

namespace athanor::api::kueue {

inline constexpr std::string_view kGroup = "kueue.x-k8s.io";
inline constexpr Kind kResourceFlavor{kGroup, "v1beta2", "ResourceFlavor", "resourceflavors",
                                      false};
inline constexpr Kind kClusterQueue{kGroup, "v1beta2", "ClusterQueue", "clusterqueues", false};
inline constexpr Kind kLocalQueue{kGroup, "v1beta2", "LocalQueue", "localqueues", true};
inline constexpr Kind kWorkload{kGroup, "v1beta2", "Workload", "workloads", true};
inline constexpr Kind kWorkloadPriorityClass{kGroup, "v1beta2", "WorkloadPriorityClass",
                                             "workloadpriorityclasses", false};
inline constexpr Kind kCohort{kGroup, "v1beta2", "Cohort", "cohorts", false};
inline constexpr Kind kAdmissionCheck{kGroup, "v1beta2", "AdmissionCheck", "admissionchecks",
                                      false};
inline constexpr Kind kTopology{kGroup, "v1beta2", "Topology", "topologies", false};
inline constexpr Kind kMultiKueueConfig{kGroup, "v1beta2", "MultiKueueConfig", "multikueueconfigs",
                                        false};
inline constexpr Kind kMultiKueueCluster{kGroup, "v1beta2", "MultiKueueCluster",
                                         "multikueueclusters", false};
inline constexpr Kind kProvisioningRequestConfig{kGroup, "v1beta2", "ProvisioningRequestConfig",
                                                 "provisioningrequestconfigs", false};

inline constexpr std::string_view kQueueLabel = "kueue.x-k8s.io/queue-name";
inline constexpr std::string_view kInUseFinalizer = "kueue.x-k8s.io/resource-in-use";
inline constexpr std::string_view kDeprecationWarning =
    "This version is deprecated. Use v1beta2 instead.";

// ResourceFlavor.
struct Taint {
  std::string key{}, value{}, effect{};
};
struct Toleration {
  std::string key{}, op{}, value{}, effect{};
  std::optional<std::int64_t> toleration_seconds{};
};
struct ResourceFlavorSpec {
  std::map<std::string, std::string> node_labels{};
  std::vector<Taint> node_taints{};
  std::vector<Toleration> tolerations{};
  std::string topology_name{};
};
struct ResourceFlavor {
  Object object{};
  ResourceFlavorSpec spec{};
  static const Kind& kind() { return kResourceFlavor; }
};

// Quota, of a ClusterQueue and of a Cohort.
struct ResourceQuota {
  std::string name{};
  Quantity nominal_quota{};
  std::optional<Quantity> borrowing_limit{};
  std::optional<Quantity> lending_limit{};
};
struct FlavorQuotas {
  std::string name{};
  std::vector<ResourceQuota> resources{};
};
struct ResourceGroup {
  std::vector<std::string> covered_resources{};
  std::vector<FlavorQuotas> flavors{};
};
struct FairSharing {
  std::optional<Quantity> weight{};
};
struct FairSharingStatus {
  std::int64_t weighted_share = 0;
};

// ClusterQueue.
struct FlavorFungibility {
  std::string when_can_borrow = "MayStopSearch";
  std::string when_can_preempt = "TryNextFlavor";
  std::string preference{};
};
struct BorrowWithinCohort {
  std::string policy = "Never";
  std::optional<std::int32_t> max_priority_threshold{};
};
struct ClusterQueuePreemption {
  std::string within_cluster_queue = "Never";
  std::string reclaim_within_cohort = "Never";
  std::optional<BorrowWithinCohort> borrow_within_cohort{};
};
struct AdmissionCheckRule {
  std::string name{};
  std::vector<std::string> on_flavors{};
};
struct AdmissionChecksStrategy {
  std::vector<AdmissionCheckRule> admission_checks{};
};
struct ClusterQueueSpec {
  std::vector<ResourceGroup> resource_groups{};
  std::string cohort_name{};
  std::string queueing_strategy = "BestEffortFIFO";
  Value namespace_selector{};  // Null: no namespace
  FlavorFungibility flavor_fungibility{};
  ClusterQueuePreemption preemption{};
  AdmissionChecksStrategy admission_checks_strategy{};
  std::string stop_policy = "None";
  std::optional<FairSharing> fair_sharing{};
  Value admission_scope{};
};
struct ResourceUsage {
  std::string name{};
  Quantity total{};
  std::optional<Quantity> borrowed{};
};
struct FlavorUsage {
  std::string name{};
  std::vector<ResourceUsage> resources{};
};
struct ClusterQueueStatus {
  Value conditions{};
  std::vector<FlavorUsage> flavors_reservation{};
  std::vector<FlavorUsage> flavors_usage{};
  std::int32_t pending_workloads = 0;
  std::int32_t reserving_workloads = 0;
  std::int32_t admitted_workloads = 0;
  std::optional<FairSharingStatus> fair_sharing{};
};
struct ClusterQueue {
  Object object{};
  ClusterQueueSpec spec{};
  ClusterQueueStatus status{};
  static const Kind& kind() { return kClusterQueue; }
};

// LocalQueue.
struct LocalQueueSpec {
  std::string cluster_queue{};
  std::string stop_policy = "None";
  std::optional<FairSharing> fair_sharing{};
};
struct LocalQueueStatus {
  Value conditions{};
  std::vector<FlavorUsage> flavors_reservation{};
  std::vector<FlavorUsage> flavors_usage{};
  std::int32_t pending_workloads = 0;
  std::int32_t reserving_workloads = 0;
  std::int32_t admitted_workloads = 0;
};
struct LocalQueue {
  Object object{};
  LocalQueueSpec spec{};
  LocalQueueStatus status{};
  static const Kind& kind() { return kLocalQueue; }
};

// Workload.
struct PodSet {
  std::string name = "main";
  Value template_value{};  // PodTemplateSpec, key "template"
  std::int32_t count = 1;
  std::optional<std::int32_t> min_count{};
  Value topology_request{};
};
struct PriorityClassRef {
  std::string group{}, kind{}, name{};
};
struct WorkloadSpec {
  std::vector<PodSet> pod_sets{};
  std::string queue_name{};
  std::optional<PriorityClassRef> priority_class_ref{};
  std::optional<std::int32_t> priority{};
  bool active = true;
  std::optional<std::int32_t> maximum_execution_time_seconds{};
};
struct PodSetAssignment {
  std::string name = "main";
  std::map<std::string, std::string> flavors{};      // resource to flavor
  std::map<std::string, Quantity> resource_usage{};  // of all pods together
  std::int32_t count = 0;
};
struct Admission {
  std::string cluster_queue{};
  std::vector<PodSetAssignment> pod_set_assignments{};
};
struct RequeueState {
  std::int32_t count = 0;
  std::optional<Instant> requeue_at{};
};
struct ReclaimablePod {
  std::string name{};
  std::int32_t count = 0;
};
struct AdmissionCheckState {
  std::string name{};
  std::string state{};  // Pending, Ready, Retry, Rejected
  std::string message{};
  std::optional<Instant> last_transition_time{};
  Value pod_set_updates{};
  std::optional<std::int32_t> requeue_after_seconds{};
  std::optional<std::int32_t> retry_count{};
};
struct PodSetRequest {
  std::string name{};
  std::map<std::string, Quantity> resources{};
};
struct EvictionCount {
  std::string reason{}, underlying_cause{};
  std::int32_t count = 0;
};
struct SchedulingStats {
  std::vector<EvictionCount> evictions{};
};
struct WorkloadStatus {
  Value conditions{};
  std::optional<Admission> admission{};
  std::optional<RequeueState> requeue_state{};
  std::vector<ReclaimablePod> reclaimable_pods{};
  std::vector<AdmissionCheckState> admission_checks{};
  std::vector<PodSetRequest> resource_requests{};
  std::optional<std::int32_t> accumulated_past_execution_time_seconds{};
  std::optional<SchedulingStats> scheduling_stats{};
};
struct Workload {
  Object object{};
  WorkloadSpec spec{};
  WorkloadStatus status{};
  static const Kind& kind() { return kWorkload; }
};

// The smaller kinds.
struct WorkloadPriorityClass {
  Object object{};
  std::int32_t value = 0;
  std::string description{};
  static const Kind& kind() { return kWorkloadPriorityClass; }
};
struct CohortSpec {
  std::string parent_name{};
  std::vector<ResourceGroup> resource_groups{};
  std::optional<FairSharing> fair_sharing{};
};
struct CohortStatus {
  std::optional<FairSharingStatus> fair_sharing{};
};
struct Cohort {
  Object object{};
  CohortSpec spec{};
  CohortStatus status{};
  static const Kind& kind() { return kCohort; }
};
struct AdmissionCheckParameters {
  std::string api_group{}, kind{}, name{};
};
struct AdmissionCheckSpec {
  std::string controller_name{};
  std::optional<AdmissionCheckParameters> parameters{};
};
struct AdmissionCheckStatus {
  Value conditions{};
};
struct AdmissionCheck {
  Object object{};
  AdmissionCheckSpec spec{};
  AdmissionCheckStatus status{};
  static const Kind& kind() { return kAdmissionCheck; }
};

}  // namespace athanor::api::kueue

namespace athanor::api {
std::span<const CustomKind* const> kueue_kinds();
}  // namespace athanor::api

ATHANOR_DESCRIBED(athanor::api::kueue::Taint);
ATHANOR_DESCRIBED(athanor::api::kueue::Toleration);
ATHANOR_DESCRIBED(athanor::api::kueue::ResourceFlavorSpec);
ATHANOR_DESCRIBED(athanor::api::kueue::ResourceFlavor);
ATHANOR_DESCRIBED(athanor::api::kueue::ResourceQuota);
ATHANOR_DESCRIBED(athanor::api::kueue::FlavorQuotas);
ATHANOR_DESCRIBED(athanor::api::kueue::ResourceGroup);
ATHANOR_DESCRIBED(athanor::api::kueue::FairSharing);
ATHANOR_DESCRIBED(athanor::api::kueue::FairSharingStatus);
ATHANOR_DESCRIBED(athanor::api::kueue::FlavorFungibility);
ATHANOR_DESCRIBED(athanor::api::kueue::BorrowWithinCohort);
ATHANOR_DESCRIBED(athanor::api::kueue::ClusterQueuePreemption);
ATHANOR_DESCRIBED(athanor::api::kueue::AdmissionCheckRule);
ATHANOR_DESCRIBED(athanor::api::kueue::AdmissionChecksStrategy);
ATHANOR_DESCRIBED(athanor::api::kueue::ClusterQueueSpec);
ATHANOR_DESCRIBED(athanor::api::kueue::ResourceUsage);
ATHANOR_DESCRIBED(athanor::api::kueue::FlavorUsage);
ATHANOR_DESCRIBED(athanor::api::kueue::ClusterQueueStatus);
ATHANOR_DESCRIBED(athanor::api::kueue::ClusterQueue);
ATHANOR_DESCRIBED(athanor::api::kueue::LocalQueueSpec);
ATHANOR_DESCRIBED(athanor::api::kueue::LocalQueueStatus);
ATHANOR_DESCRIBED(athanor::api::kueue::LocalQueue);
ATHANOR_DESCRIBED(athanor::api::kueue::PodSet);
ATHANOR_DESCRIBED(athanor::api::kueue::PriorityClassRef);
ATHANOR_DESCRIBED(athanor::api::kueue::WorkloadSpec);
ATHANOR_DESCRIBED(athanor::api::kueue::PodSetAssignment);
ATHANOR_DESCRIBED(athanor::api::kueue::Admission);
ATHANOR_DESCRIBED(athanor::api::kueue::RequeueState);
ATHANOR_DESCRIBED(athanor::api::kueue::ReclaimablePod);
ATHANOR_DESCRIBED(athanor::api::kueue::AdmissionCheckState);
ATHANOR_DESCRIBED(athanor::api::kueue::PodSetRequest);
ATHANOR_DESCRIBED(athanor::api::kueue::EvictionCount);
ATHANOR_DESCRIBED(athanor::api::kueue::SchedulingStats);
ATHANOR_DESCRIBED(athanor::api::kueue::WorkloadStatus);
ATHANOR_DESCRIBED(athanor::api::kueue::Workload);
ATHANOR_DESCRIBED(athanor::api::kueue::WorkloadPriorityClass);
ATHANOR_DESCRIBED(athanor::api::kueue::CohortSpec);
ATHANOR_DESCRIBED(athanor::api::kueue::CohortStatus);
ATHANOR_DESCRIBED(athanor::api::kueue::Cohort);
ATHANOR_DESCRIBED(athanor::api::kueue::AdmissionCheckParameters);
ATHANOR_DESCRIBED(athanor::api::kueue::AdmissionCheckSpec);
ATHANOR_DESCRIBED(athanor::api::kueue::AdmissionCheckStatus);
ATHANOR_DESCRIBED(athanor::api::kueue::AdmissionCheck);
