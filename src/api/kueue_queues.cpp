// SPDX-License-Identifier: Apache-2.0
// Field tables of the Kueue kinds that hold quota: ResourceFlavor, ClusterQueue, LocalQueue,
// Cohort.
#include "api/describe_ops.hpp"
#include "api/kueue.hpp"
#include "api/kueue_schemas.hpp"

namespace athanor::api {

using namespace kueue;

const TypeInfo& Describe<Taint>::type() {
  static const FieldInfo kFields[] = {
      field<&Taint::key>("key", "The taint key.", {.required = true}),
      field<&Taint::value>("value", "The taint value."),
      field<&Taint::effect>(
          "effect", "NoSchedule, PreferNoSchedule or NoExecute.",
          {.required = true, .enum_values = "NoSchedule|PreferNoSchedule|NoExecute"}),
      schema_field<Instant>("timeAdded", "When a NoExecute taint was added."),
  };
  static const TypeInfo kType{.name = "Taint", .fields = kFields};
  return kType;
}

const TypeInfo& Describe<Toleration>::type() {
  static const FieldInfo kFields[] = {
      field<&Toleration::key>("key", "Taint key that is tolerated; empty with Exists: every key."),
      field<&Toleration::op>("operator", "Exists or Equal.", {.enum_values = "Equal|Exists"}),
      field<&Toleration::value>("value", "Taint value that is tolerated."),
      field<&Toleration::effect>("effect", "Effect that is tolerated; empty: every one.",
                                 {.enum_values = "NoSchedule|PreferNoSchedule|NoExecute"}),
      field<&Toleration::toleration_seconds>(
          "tolerationSeconds", "How long NoExecute is tolerated.", {.format = "int64"}),
  };
  static const TypeInfo kType{.name = "Toleration", .fields = kFields};
  return kType;
}

const TypeInfo& Describe<ResourceFlavorSpec>::type() {
  using T = ResourceFlavorSpec;
  static const FieldInfo kFields[] = {
      field<&T::node_labels>("nodeLabels", "Labels of the nodes of this flavor.",
                             {.max_properties = 8, .map_type = "atomic"}),
      field<&T::node_taints>("nodeTaints", "Taints of the nodes of this flavor.",
                             {.max_items = 8, .list_type = "atomic"}),
      field<&T::tolerations>("tolerations", "Tolerations added to admitted workloads.",
                             {.max_items = 8, .list_type = "atomic"}),
      field<&T::topology_name>("topologyName", "Topology of the nodes; stored, without effect.",
                               {.pattern = kSubdomainPattern, .max_length = 253}),
  };
  static const TypeInfo kType{
      .name = "ResourceFlavorSpec", .fields = kFields, .validations_json = R"json([
        {"rule": "!has(self.topologyName) || has(self.nodeLabels) && size(self.nodeLabels) >= 1",
         "message": "at least one nodeLabel is required when topology is set"},
        {"rule": "!has(oldSelf.topologyName) || self == oldSelf",
         "message": "resourceFlavorSpec are immutable when topologyName is set"}])json"};
  return kType;
}

const TypeInfo& Describe<ResourceFlavor>::type() {
  static const FieldInfo kFields[] = {
      field<&ResourceFlavor::spec>("spec", "Which nodes make up this flavor.")};
  static const TypeInfo kType{.name = "ResourceFlavor",
                              .doc = "A variant of resources: one kind of nodes.",
                              .fields = kFields};
  return kType;
}

const TypeInfo& Describe<ResourceQuota>::type() {
  using T = ResourceQuota;
  static const FieldInfo kFields[] = {
      field<&T::name>("name", "Name of the resource.", {.required = true}),
      field<&T::nominal_quota>("nominalQuota", "How much is available at any time.",
                               {.required = true}),
      field<&T::borrowing_limit>("borrowingLimit",
                                 "How much may be borrowed from the cohort; absent: no limit."),
      field<&T::lending_limit>("lendingLimit", "How much may be lent to the cohort; absent: all."),
  };
  static const TypeInfo kType{.name = "ResourceQuota", .fields = kFields};
  return kType;
}

const TypeInfo& Describe<FlavorQuotas>::type() {
  using T = FlavorQuotas;
  static const FieldInfo kFields[] = {
      field<&T::name>("name", "Name of the ResourceFlavor.",
                      {.required = true, .pattern = kSubdomainPattern, .max_length = 253}),
      field<&T::resources>("resources", "Quotas, in the order of coveredResources.",
                           {.required = true,
                            .min_items = 1,
                            .max_items = 64,
                            .list_type = "map",
                            .list_keys = "name"}),
  };
  static const TypeInfo kType{.name = "FlavorQuotas", .fields = kFields};
  return kType;
}

const TypeInfo& Describe<ResourceGroup>::type() {
  using T = ResourceGroup;
  static const FieldInfo kFields[] = {
      field<&T::covered_resources>(
          "coveredResources", "Resources that the flavors of this group provide.",
          {.required = true, .min_items = 1, .max_items = 64, .list_type = "atomic"}),
      field<&T::flavors>("flavors", "Flavors in order of preference.",
                         {.required = true,
                          .min_items = 1,
                          .max_items = 64,
                          .list_type = "map",
                          .list_keys = "name"}),
  };
  static const TypeInfo kType{
      .name = "ResourceGroup", .fields = kFields, .validations_json = R"json([
        {"rule": "self.flavors.all(f, size(f.resources) == size(self.coveredResources))",
         "message": "flavors must have the same number of resources as the coveredResources"}])json"};
  return kType;
}

const TypeInfo& Describe<FairSharing>::type() {
  static const FieldInfo kFields[] = {field<&FairSharing::weight>(
      "weight", "Share of unused quota relative to the others of the cohort.",
      {.default_json = "1"})};
  static const TypeInfo kType{.name = "FairSharing", .fields = kFields};
  return kType;
}

const TypeInfo& Describe<FairSharingStatus>::type() {
  static const FieldInfo kFields[] = {field<&FairSharingStatus::weighted_share>(
      "weightedShare", "Borrowed share divided by the weight.",
      {.required = true, .format = "int64"})};
  static const TypeInfo kType{.name = "FairSharingStatus", .fields = kFields};
  return kType;
}

const TypeInfo& Describe<FlavorFungibility>::type() {
  using T = FlavorFungibility;
  static const FieldInfo kFields[] = {
      field<&T::when_can_borrow>(
          "whenCanBorrow", "What to do when the workload fits by borrowing.",
          {.default_json = R"("MayStopSearch")", .enum_values = "MayStopSearch|TryNextFlavor"}),
      field<&T::when_can_preempt>(
          "whenCanPreempt", "What to do when the workload fits by preempting.",
          {.default_json = R"("TryNextFlavor")", .enum_values = "MayStopSearch|TryNextFlavor"}),
      field<&T::preference>("preference", "Which of the two to prefer when both are TryNextFlavor.",
                            {.enum_values = "BorrowingOverPreemption|PreemptionOverBorrowing"}),
  };
  static const TypeInfo kType{
      .name = "FlavorFungibility", .fields = kFields, .validations_json = R"json([
        {"rule": "!has(self.preference) || self.whenCanBorrow == 'TryNextFlavor' && self.whenCanPreempt == 'TryNextFlavor'",
         "message": "preference can only be set when both whenCanBorrow and whenCanPreempt are TryNextFlavor"}])json"};
  return kType;
}

const TypeInfo& Describe<BorrowWithinCohort>::type() {
  using T = BorrowWithinCohort;
  static const FieldInfo kFields[] = {
      field<&T::policy>("policy", "Whether a borrowing workload may preempt in the cohort.",
                        {.default_json = R"("Never")", .enum_values = "Never|LowerPriority"}),
      field<&T::max_priority_threshold>("maxPriorityThreshold",
                                        "Only workloads up to this priority are preempted."),
  };
  static const TypeInfo kType{.name = "BorrowWithinCohort", .fields = kFields};
  return kType;
}

const TypeInfo& Describe<ClusterQueuePreemption>::type() {
  using T = ClusterQueuePreemption;
  static const FieldInfo kFields[] = {
      field<&T::within_cluster_queue>(
          "withinClusterQueue", "Which workloads of this queue may be preempted.",
          {.default_json = R"("Never")",
           .enum_values = "Never|LowerPriority|LowerOrNewerEqualPriority"}),
      field<&T::reclaim_within_cohort>(
          "reclaimWithinCohort", "Which borrowers of the cohort may be preempted.",
          {.default_json = R"("Never")", .enum_values = "Never|LowerPriority|Any"}),
      field<&T::borrow_within_cohort>("borrowWithinCohort", "Whether to preempt while borrowing.",
                                      {.default_json = "{}"}),
  };
  static const TypeInfo kType{
      .name = "ClusterQueuePreemption", .fields = kFields, .validations_json = R"json([
        {"rule": "!(has(self.reclaimWithinCohort) && self.reclaimWithinCohort == 'Never' && has(self.borrowWithinCohort) && has(self.borrowWithinCohort.policy) && self.borrowWithinCohort.policy != 'Never')",
         "message": "reclaimWithinCohort=Never and borrowWithinCohort.Policy!=Never"}])json"};
  return kType;
}

const TypeInfo& Describe<AdmissionCheckRule>::type() {
  using T = AdmissionCheckRule;
  static const FieldInfo kFields[] = {
      field<&T::name>("name", "Name of the AdmissionCheck.",
                      {.required = true, .pattern = kSubdomainPattern, .max_length = 253}),
      field<&T::on_flavors>("onFlavors", "Flavors it applies to; empty: all.",
                            {.max_items = 64, .list_type = "set"}),
  };
  static const TypeInfo kType{.name = "AdmissionCheckStrategyRule", .fields = kFields};
  return kType;
}

const TypeInfo& Describe<AdmissionChecksStrategy>::type() {
  static const FieldInfo kFields[] = {field<&AdmissionChecksStrategy::admission_checks>(
      "admissionChecks", "Checks that must be ready before admission.",
      {.max_items = 64, .list_type = "map", .list_keys = "name"})};
  static const TypeInfo kType{.name = "AdmissionChecksStrategy", .fields = kFields};
  return kType;
}

const TypeInfo& Describe<ClusterQueueSpec>::type() {
  using T = ClusterQueueSpec;
  static const FieldInfo kFields[] = {
      field<&T::resource_groups>("resourceGroups", "Quotas; a resource belongs to one group.",
                                 {.max_items = 16, .list_type = "atomic"}),
      field<&T::cohort_name>("cohortName", "Cohort to borrow from and lend to.",
                             {.pattern = kSubdomainPattern, .max_length = 253}),
      field<&T::queueing_strategy>(
          "queueingStrategy", "Whether a workload that does not fit blocks the next ones.",
          {.default_json = R"("BestEffortFIFO")", .enum_values = "StrictFIFO|BestEffortFIFO"}),
      field<&T::namespace_selector>("namespaceSelector",
                                    "Namespaces that may use the queue; {}: all, absent: none.",
                                    {.schema_json = kLabelSelectorSchema}),
      field<&T::flavor_fungibility>("flavorFungibility", "When to look at the next flavor.",
                                    {.default_json = "{}"}),
      field<&T::preemption>("preemption", "Whom a workload may push aside.",
                            {.default_json = "{}"}),
      field<&T::admission_checks_strategy>("admissionChecksStrategy", "Checks beside quota."),
      field<&T::stop_policy>(
          "stopPolicy", "Hold: admit nothing more. HoldAndDrain: evict as well.",
          {.default_json = R"("None")", .enum_values = "None|Hold|HoldAndDrain"}),
      field<&T::fair_sharing>("fairSharing", "Weight of this queue in its cohort."),
      field<&T::admission_scope>(
          "admissionScope", "Stored, without effect.",
          {.schema_json = R"({"type": "object", "required": ["admissionMode"],
                              "properties": {"admissionMode": {"type": "string"}}})"}),
  };
  static const TypeInfo kType{
      .name = "ClusterQueueSpec", .fields = kFields, .validations_json = R"json([
        {"rule": "has(self.cohortName) || !has(self.resourceGroups) || self.resourceGroups.all(g, g.flavors.all(f, f.resources.all(r, !has(r.borrowingLimit))))",
         "message": "borrowingLimit must be nil when cohort is empty"}])json"};
  return kType;
}

const TypeInfo& Describe<ResourceUsage>::type() {
  using T = ResourceUsage;
  static const FieldInfo kFields[] = {
      field<&T::name>("name", "Name of the resource.", {.required = true}),
      field<&T::total>("total", "Used, borrowed included."),
      field<&T::borrowed>("borrowed", "Borrowed from the cohort."),
  };
  static const TypeInfo kType{.name = "ResourceUsage", .fields = kFields};
  return kType;
}

const TypeInfo& Describe<FlavorUsage>::type() {
  using T = FlavorUsage;
  static const FieldInfo kFields[] = {
      field<&T::name>("name", "Name of the flavor.",
                      {.required = true, .pattern = kSubdomainPattern, .max_length = 253}),
      field<&T::resources>(
          "resources", "Use of each resource.",
          {.required = true, .max_items = 64, .list_type = "map", .list_keys = "name"}),
  };
  static const TypeInfo kType{.name = "FlavorUsage", .fields = kFields};
  return kType;
}

const TypeInfo& Describe<ClusterQueueStatus>::type() {
  using T = ClusterQueueStatus;
  static const FieldInfo kFields[] = {
      field<&T::conditions>("conditions", "Active: whether it admits.",
                            {.schema_json = kConditionsSchema}),
      field<&T::flavors_reservation>("flavorsReservation", "Quota reserved.",
                                     {.max_items = 256, .list_type = "map", .list_keys = "name"}),
      field<&T::flavors_usage>("flavorsUsage", "Quota used by admitted workloads.",
                               {.max_items = 256, .list_type = "map", .list_keys = "name"}),
      field<&T::pending_workloads>("pendingWorkloads", "Workloads that wait."),
      field<&T::reserving_workloads>("reservingWorkloads", "Workloads that hold quota."),
      field<&T::admitted_workloads>("admittedWorkloads", "Workloads that are admitted."),
      field<&T::fair_sharing>("fairSharing", "Current share."),
  };
  static const TypeInfo kType{.name = "ClusterQueueStatus", .fields = kFields};
  return kType;
}

const TypeInfo& Describe<ClusterQueue>::type() {
  static const FieldInfo kFields[] = {
      field<&ClusterQueue::spec>("spec", "Quota and the rules of its use."),
      field<&ClusterQueue::status>("status", "Current use."),
  };
  static const TypeInfo kType{.name = "ClusterQueue", .doc = "A pool of quota.", .fields = kFields};
  return kType;
}

const TypeInfo& Describe<LocalQueueSpec>::type() {
  using T = LocalQueueSpec;
  static const FieldInfo kFields[] = {
      field<&T::cluster_queue>(
          "clusterQueue", "ClusterQueue that provides the quota.",
          {.pattern = kSubdomainPattern,
           .max_length = 253,
           .validations_json =
               R"json([{"rule": "self == oldSelf", "message": "field is immutable"}])json"}),
      field<&T::stop_policy>(
          "stopPolicy", "Hold: admit nothing more. HoldAndDrain: evict as well.",
          {.default_json = R"("None")", .enum_values = "None|Hold|HoldAndDrain"}),
      field<&T::fair_sharing>("fairSharing", "Stored, without effect."),
  };
  static const TypeInfo kType{.name = "LocalQueueSpec", .fields = kFields};
  return kType;
}

const TypeInfo& Describe<LocalQueueStatus>::type() {
  using T = LocalQueueStatus;
  static const FieldInfo kFields[] = {
      field<&T::conditions>("conditions", "Active: whether it takes workloads.",
                            {.schema_json = kConditionsSchema}),
      field<&T::flavors_reservation>("flavorsReservation", "Quota reserved through this queue.",
                                     {.max_items = 16, .list_type = "map", .list_keys = "name"}),
      field<&T::flavors_usage>("flavorsUsage", "Quota used through this queue.",
                               {.max_items = 16, .list_type = "map", .list_keys = "name"}),
      field<&T::pending_workloads>("pendingWorkloads", "Workloads that wait."),
      field<&T::reserving_workloads>("reservingWorkloads", "Workloads that hold quota."),
      field<&T::admitted_workloads>("admittedWorkloads", "Workloads that are admitted."),
  };
  static const TypeInfo kType{.name = "LocalQueueStatus", .fields = kFields};
  return kType;
}

const TypeInfo& Describe<LocalQueue>::type() {
  static const FieldInfo kFields[] = {
      field<&LocalQueue::spec>("spec", "Where the quota comes from."),
      field<&LocalQueue::status>("status", "Current use."),
  };
  static const TypeInfo kType{
      .name = "LocalQueue", .doc = "A namespace's door to a ClusterQueue.", .fields = kFields};
  return kType;
}

const TypeInfo& Describe<CohortSpec>::type() {
  using T = CohortSpec;
  static const FieldInfo kFields[] = {
      field<&T::parent_name>("parentName", "Parent in the tree of cohorts.",
                             {.pattern = kSubdomainPattern, .max_length = 253}),
      field<&T::resource_groups>("resourceGroups", "Quota of the cohort itself.",
                                 {.max_items = 16, .list_type = "atomic"}),
      field<&T::fair_sharing>("fairSharing", "Weight of this cohort below its parent."),
  };
  static const TypeInfo kType{.name = "CohortSpec", .fields = kFields};
  return kType;
}

const TypeInfo& Describe<CohortStatus>::type() {
  static const FieldInfo kFields[] = {
      field<&CohortStatus::fair_sharing>("fairSharing", "Current share.")};
  static const TypeInfo kType{.name = "CohortStatus", .fields = kFields};
  return kType;
}

const TypeInfo& Describe<Cohort>::type() {
  static const FieldInfo kFields[] = {
      field<&Cohort::spec>("spec", "Place in the tree and quota."),
      field<&Cohort::status>("status", "Current share."),
  };
  static const TypeInfo kType{
      .name = "Cohort", .doc = "ClusterQueues that share quota.", .fields = kFields};
  return kType;
}

}  // namespace athanor::api
