// SPDX-License-Identifier: Apache-2.0
// Field tables of NUMAResourcesOperator and NUMAResourcesScheduler.
#include "systems/numa/model/kinds.hpp"

#include "api/describe_ops.hpp"
#include "systems/numa/model/kinds_schemas.hpp"

namespace athanor::api {

using numa::schemas::kLabelSelector;
using numa::schemas::kOperatorStatus;
using numa::schemas::kSchedulerStatus;
using numa::schemas::kTolerations;

constexpr std::string_view kLogLevels = "|Normal|Debug|Trace|TraceAll";

const TypeInfo& Describe<numa::NamespacedName>::type() {
  using T = numa::NamespacedName;
  static const FieldInfo kFields[] = {
      field<&T::ns>("namespace", "Namespace, or a pattern of it."),
      field<&T::name>("name", "Name, or a pattern of it."),
  };
  static const TypeInfo kType{
      .name = "NamespacedName", .doc = "Names pods by namespace and name.", .fields = kFields};
  return kType;
}

const TypeInfo& Describe<numa::NodeGroupConfig>::type() {
  using T = numa::NodeGroupConfig;
  static const FieldInfo kFields[] = {
      field<&T::pods_fingerprinting>("podsFingerprinting", "Which pods the fingerprint covers.",
                                     {.enum_values = "Disabled|Enabled|EnabledExclusiveResources"}),
      field<&T::info_refresh_mode>("infoRefreshMode", "What makes the exporter update its object.",
                                   {.enum_values = "Periodic|Events|PeriodicAndEvents"}),
      field<&T::info_refresh_period>("infoRefreshPeriod", "Time between periodic updates: 10s."),
      field<&T::info_refresh_pause>("infoRefreshPause",
                                    "Enabled: the exporter computes and does not publish.",
                                    {.enum_values = "Disabled|Enabled"}),
      field<&T::tolerations>("tolerations", "Tolerations of the exporter's pods.",
                             {.schema_json = kTolerations}),
  };
  static const TypeInfo kType{.name = "NodeGroupConfig",
                              .doc = "How the exporter of one group of nodes works.",
                              .fields = kFields};
  return kType;
}

const TypeInfo& Describe<numa::NodeGroup>::type() {
  using T = numa::NodeGroup;
  static const FieldInfo kFields[] = {
      field<&T::machine_config_pool_selector>("machineConfigPoolSelector",
                                              "Labels of the MachineConfigPools of the group.",
                                              {.schema_json = kLabelSelector}),
      field<&T::pool_name>("poolName", "Name of the node pool of the group."),
      field<&T::annotations>("annotations", "Settings of the group, at most 8."),
      field<&T::config>("config", "How the exporter works there."),
  };
  static const TypeInfo kType{
      .name = "NodeGroup", .doc = "Nodes that get an exporter.", .fields = kFields};
  return kType;
}

const TypeInfo& Describe<numa::OperatorSpec>::type() {
  using T = numa::OperatorSpec;
  static const FieldInfo kFields[] = {
      field<&T::node_groups>("nodeGroups", "Groups of nodes that get an exporter."),
      field<&T::image_spec>("imageSpec", "Image of the exporter; empty: the operator's own."),
      field<&T::log_level>("logLevel", "Verbosity of the exporter.",
                           {.default_json = R"("Normal")", .enum_values = kLogLevels}),
      field<&T::pod_excludes>("podExcludes", "Pods that the exporter does not see."),
  };
  static const TypeInfo kType{.name = "NUMAResourcesOperatorSpec",
                              .doc = "Which nodes export their zones, and how.",
                              .fields = kFields};
  return kType;
}

const TypeInfo& Describe<numa::OperatorResource>::type() {
  using T = numa::OperatorResource;
  static const FieldInfo kStatus =
      schema_field<Value>("status", "What was deployed.", {.schema_json = kOperatorStatus});
  static const FieldInfo kFields[] = {
      field<&T::spec>("spec", "Which nodes export their zones, and how."), kStatus};
  static const TypeInfo kType{
      .name = "NUMAResourcesOperator",
      .doc = "Deploys an exporter of NUMA zones on groups of nodes.",
      .fields = kFields,
      .validations_json =
          R"json([{"rule": "has(self.metadata.name) && self.metadata.name == 'numaresourcesoperator'",
 "message": "This is a singleton resource and the object name must be 'numaresourcesoperator'."}])json"};
  return kType;
}

const TypeInfo& Describe<numa::ResourceWeight>::type() {
  using T = numa::ResourceWeight;
  static const FieldInfo kFields[] = {
      field<&T::name>("name", "Name of the resource.", {.required = true}),
      field<&T::weight>("weight", "Its weight; 0: 1.", {.format = "int64"}),
  };
  static const TypeInfo kType{
      .name = "ResourceWeight", .doc = "Weight of one resource in scores.", .fields = kFields};
  return kType;
}

const TypeInfo& Describe<numa::ScoringStrategySpec>::type() {
  using T = numa::ScoringStrategySpec;
  static const FieldInfo kFields[] = {
      field<&T::type>(
          "type", "How nodes are scored.",
          {.enum_values = "MostAllocated|BalancedAllocation|LeastAllocated|LeastNUMANodes"}),
      field<&T::resources>("resources", "Weights of resources."),
  };
  static const TypeInfo kType{
      .name = "ScoringStrategy", .doc = "How nodes are scored.", .fields = kFields};
  return kType;
}

const TypeInfo& Describe<numa::SchedulerSpec>::type() {
  using T = numa::SchedulerSpec;
  static const FieldInfo kFields[] = {
      field<&T::image_spec>("imageSpec", "Image of the scheduler.", {.required = true}),
      field<&T::scheduler_name>("schedulerName", "Name that pods ask for in spec.schedulerName."),
      field<&T::log_level>("logLevel", "Verbosity of the scheduler.",
                           {.default_json = R"("Normal")", .enum_values = kLogLevels}),
      field<&T::cache_resync_period>("cacheResyncPeriod",
                                     "Time between looks at nodes that differ; 0: no cache."),
      field<&T::cache_resync_debug>("cacheResyncDebug", "Whether fingerprints are dumped.",
                                    {.enum_values = "Disabled|DumpJSONFile"}),
      field<&T::scheduler_informer>("schedulerInformer",
                                    "Which informer the cache reads pods from.",
                                    {.enum_values = "Shared|Dedicated"}),
      field<&T::cache_resync_detection>("cacheResyncDetection",
                                        "Which pods of other schedulers block a node.",
                                        {.enum_values = "Relaxed|Aggressive"}),
      field<&T::scoring_strategy>("scoringStrategy", "How nodes are scored."),
      field<&T::preemption_mode>("preemptionMode", "Whether victims are chosen by zone.",
                                 {.enum_values = "Enabled|Disabled"}),
      field<&T::replicas>("replicas", "Replicas of the scheduler; absent: by the control plane."),
  };
  static const TypeInfo kType{
      .name = "NUMAResourcesSchedulerSpec", .doc = "The secondary scheduler.", .fields = kFields};
  return kType;
}

const TypeInfo& Describe<numa::SchedulerResource>::type() {
  using T = numa::SchedulerResource;
  static const FieldInfo kStatus =
      schema_field<Value>("status", "What was deployed.", {.schema_json = kSchedulerStatus});
  static const FieldInfo kFields[] = {field<&T::spec>("spec", "The secondary scheduler."), kStatus};
  static const TypeInfo kType{
      .name = "NUMAResourcesScheduler",
      .doc = "Deploys a scheduler that places pods by NUMA zone.",
      .fields = kFields,
      .validations_json =
          R"json([{"rule": "has(self.metadata.name) && self.metadata.name == 'numaresourcesscheduler'",
 "message": "This is a singleton resource and the object name must be 'numaresourcesscheduler'."}])json"};
  return kType;
}

}  // namespace athanor::api
