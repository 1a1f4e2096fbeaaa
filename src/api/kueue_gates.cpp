// SPDX-License-Identifier: Apache-2.0
#include "api/kueue_gates.hpp"

#include <algorithm>
#include <vector>

#include "base/near_name.hpp"

namespace athanor::api::kueue {
namespace {

using Effect = Gate::Effect;

constexpr Gate kGates[] = {
    {"AdmissionFairSharing", Effect::Never},
    {"AdmissionGatedBy", Effect::Always},
    {"AllAlpha"},
    {"AllBeta"},
    {"AssignQueueLabelsForPods"},
    {"CleanupProvisioningRequestsOnEviction"},
    {"ConcurrentAdmission", Effect::Never},
    {"ConfigurableResourceTransformations", Effect::Always},
    {"CustomMetricLabels", Effect::Never},
    {"DeferRayServiceFinalizationForRedisCleanup"},
    {"DisableWaitForPodsReady"},
    {"DynamicResourceAllocation", Effect::Never},
    {"ElasticJobsViaWorkloadSlices", Effect::Never},
    {"ElasticJobsViaWorkloadSlicesWithTAS", Effect::Never},
    {"FailureRecoveryPolicy", Effect::Never},
    {"FairSharingPreemptWithinNominal", Effect::Always},
    {"FairSharingPrioritizeNonBorrowing", Effect::Always},
    {"FastQuotaReleaseInPodIntegration"},
    {"FinishOrphanedWorkloads"},
    {"FlavorFungibility", Effect::Always},
    {"FlavorFungibilityImplicitPreferenceDefault"},
    {"FlavorFungibilityPreserveScanProgress", Effect::Never},
    {"HierarchicalCohorts", Effect::Always},
    {"KueueDRAIntegration", Effect::Never},
    {"KueueDRAIntegrationConsumableCapacity", Effect::Never},
    {"KueueDRAIntegrationExtendedResource", Effect::Never},
    {"KueueDRAIntegrationPartitionableDevices", Effect::Never},
    {"KueueDRARejectWorkloadsWhenDRADisabled"},
    {"LWSImmutableGroupSize"},
    {"LendingLimit", Effect::Always},
    {"LocalQueueDefaulting", Effect::Always},
    {"LocalQueueMetrics", Effect::Always},
    {"ManagedJobsNamespaceSelectorAlwaysRespected", Effect::Always},
    {"MetricForWorkloadCreationLatency"},
    {"MetricsForCohorts"},
    {"MultiKueue", Effect::Never},
    {"MultiKueueAdaptersForCustomJobs", Effect::Never},
    {"MultiKueueAllowInsecureKubeconfigs", Effect::Never},
    {"MultiKueueBatchJobWithManagedBy", Effect::Never},
    {"MultiKueueClusterProfile", Effect::Never},
    {"MultiKueueIncrementalDispatcherConfig"},
    {"MultiKueueIncrementalDispatcherRespectConfigOrder"},
    {"MultiKueueKubeConfigPathValidation"},
    {"MultiKueueManagerQuotaAutomation", Effect::Never},
    {"MultiKueueOrchestratedPreemption", Effect::Never},
    {"MultiKueueRedoAdmissionOnEvictionInWorker"},
    {"MultiKueueRemoteSpecSync"},
    {"MultiKueueWaitForWorkloadAdmitted"},
    {"ObjectRetentionPolicies", Effect::Always},
    {"PartialAdmission", Effect::Setting, "partialAdmission"},
    {"PodIntegrationValidateGroupOwner"},
    {"PrioritizePreemptorWorkloads", Effect::Always},
    {"PriorityBoost", Effect::Never},
    {"PrioritySortingWithinCohort", Effect::Always},
    {"PropagateBatchJobLabelsToWorkload"},
    {"QuotaCheckStrategy"},
    {"ReclaimablePods", Effect::Always},
    {"RecomputeAssignmentUponPreemptionTargetsOverlap", Effect::Never},
    {"RejectUpdatesToCQWithInvalidOnFlavors"},
    {"RemoveFinalizersWithStrictPatch"},
    {"SanitizePodSets"},
    {"SchedulerLibraryIntegration"},
    {"SchedulerLongRequeueInterval"},
    {"SchedulerTimestampPreemptionBuffer", Effect::Never},
    {"SchedulingEquivalenceHashing"},
    {"ShortWorkloadNames", Effect::Setting, "shortWorkloadNames"},
    {"SkipAncestorCheckForDeletedWorkloads"},
    {"SkipFinalizersForPodsSuspendedByParent"},
    {"SkipReassignmentForPodOwnedWorkloads"},
    {"SparkApplicationIntegration", Effect::Never},
    {"TASAssignmentsEncodingByHostnamePrefix"},
    {"TASBalancedPlacement", Effect::Never},
    {"TASCacheNodeMatchResults"},
    {"TASCacheTopologyTree"},
    {"TASCachingRemainingResources"},
    {"TASFailedNodeReplacement", Effect::Never},
    {"TASFailedNodeReplacementFailFast", Effect::Never},
    {"TASHandleOverlappingFlavors"},
    {"TASMultiLayerTopology", Effect::Never},
    {"TASProfileLeastFreeCapacity", Effect::Never},
    {"TASProfileMixed", Effect::Never},
    {"TASRecomputeAssignmentWithinSchedulingCycle"},
    {"TASReplaceNodeDueToNotReadyOverFixedTime"},
    {"TASReplaceNodeOnNodeTaints", Effect::Never},
    {"TASReplaceNodeOnPodTermination", Effect::Never},
    {"TASRespectNodeAffinityPreferred", Effect::Never},
    {"TASValidateWorkloadSliceSize"},
    {"TLSOptions"},
    {"TopologyAwareScheduling", Effect::Never},
    {"UnadmittedWorkloadsExplicitStatus"},
    {"UnadmittedWorkloadsObservability"},
    {"ValidateRayAndSparkJobUpdates"},
    {"VectorizedResourceRequests"},
    {"VisibilityOnDemand", Effect::Always},
    {"WorkloadIdentifierAnnotations"},
    {"WorkloadPriorityClassDefaulting", Effect::Never},
    {"WorkloadRequestUseMergePatch"},
    {"WorkloadValidateResourcesAreNonNegative"},
    {"WorkloadValidationForPodSetMetadata"},
};
static_assert(std::ranges::is_sorted(kGates, {}, &Gate::name));

}  // namespace

std::span<const Gate> gates() {
  return kGates;
}

const Gate* find_gate(std::string_view name) {
  const auto* const found = std::ranges::find(kGates, name, &Gate::name);
  return found == std::end(kGates) ? nullptr : found;
}

bool has_effect(const Gate& gate, bool value) {
  switch (gate.effect) {
    case Effect::Setting:
      return true;
    case Effect::Always:
      return value;
    case Effect::Never:
      return !value;
    case Effect::None:
      return false;
  }
  return false;
}

std::string unknown_gate(std::string_view name) {
  std::vector<std::string> known;
  for (const Gate& gate : kGates) {
    known.emplace_back(gate.name);
  }
  return "gate " + std::string(name) + " is unknown" + near_hint(name, known);
}

}  // namespace athanor::api::kueue
