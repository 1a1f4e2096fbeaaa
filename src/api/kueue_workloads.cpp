// SPDX-License-Identifier: Apache-2.0
// Field tables of Workload, WorkloadPriorityClass and AdmissionCheck.
#include "api/describe_ops.hpp"
#include "api/kueue.hpp"
#include "api/kueue_schemas.hpp"

namespace athanor::api {

using namespace kueue;

const TypeInfo& Describe<PodSet>::type() {
  using T = PodSet;
  static const FieldInfo kFields[] = {
      field<&T::name>("name", "Name of the pod set.",
                      {.default_json = R"("main")", .pattern = kLabelPattern, .max_length = 63}),
      field<&T::template_value>("template", "Pod template (core v1 PodTemplateSpec).",
                                {.required = true, .preserve_unknown = true}),
      field<&T::count>("count", "Number of pods.",
                       {.required = true, .default_json = "1", .minimum = 0}),
      field<&T::min_count>("minCount", "Least number of pods it can run with.", {.minimum = 1}),
      field<&T::topology_request>("topologyRequest", "Stored, without effect.",
                                  {.preserve_unknown = true}),
  };
  static const TypeInfo kType{
      .name = "PodSet",
      .fields = kFields,
      .validations_json = R"([{"rule": "!has(self.minCount) || self.minCount <= self.count",
                               "message": "minCount should be positive and less or equal to count"}])"};
  return kType;
}

const TypeInfo& Describe<PriorityClassRef>::type() {
  using T = PriorityClassRef;
  static const FieldInfo kFields[] = {
      field<&T::group>("group", "Group of the class.",
                       {.required = true, .enum_values = "kueue.x-k8s.io|scheduling.k8s.io"}),
      field<&T::kind>("kind", "Kind of the class.",
                      {.required = true, .enum_values = "WorkloadPriorityClass|PriorityClass"}),
      field<&T::name>(
          "name", "Name of the class.",
          {.required = true, .pattern = kSubdomainPattern, .min_length = 1, .max_length = 253}),
  };
  static const TypeInfo kType{
      .name = "PriorityClassRef", .fields = kFields, .validations_json = R"json([
        {"rule": "self.group != 'scheduling.k8s.io' || self.kind == 'PriorityClass'",
         "message": "only the PriorityClass kind is allowed for the scheduling.k8s.io group"},
        {"rule": "self.group != 'kueue.x-k8s.io' || self.kind == 'WorkloadPriorityClass'",
         "message": "only the WorkloadPriorityClass kind is allowed for the kueue.x-k8s.io group"}])json"};
  return kType;
}

const TypeInfo& Describe<WorkloadSpec>::type() {
  using T = WorkloadSpec;
  static const FieldInfo kFields[] = {
      field<&T::pod_sets>(
          "podSets", "Groups of equal pods.",
          {.min_items = 1, .max_items = 18, .list_type = "map", .list_keys = "name"}),
      field<&T::queue_name>("queueName", "LocalQueue the workload waits in.",
                            {.pattern = kSubdomainPattern, .max_length = 253}),
      field<&T::priority_class_ref>("priorityClassRef", "Class the priority was taken from."),
      field<&T::priority>("priority", "Place in the queue: higher goes first."),
      field<&T::active>("active", "False: evict it and keep it out.", {.default_json = "true"}),
      field<&T::maximum_execution_time_seconds>("maximumExecutionTimeSeconds",
                                                "Deactivate after this long in admission.",
                                                {.minimum = 1}),
  };
  static const TypeInfo kType{
      .name = "WorkloadSpec",
      .fields = kFields,
      .validations_json = R"json([{"rule": "!has(self.priorityClassRef) || has(self.priority)",
                               "message": "priority should not be nil when priorityClassRef is set"}])json"};
  return kType;
}

const TypeInfo& Describe<PodSetAssignment>::type() {
  using T = PodSetAssignment;
  static const FieldInfo kFields[] = {
      field<&T::name>("name", "Name of the pod set.",
                      {.required = true,
                       .default_json = R"("main")",
                       .pattern = kLabelPattern,
                       .max_length = 63}),
      field<&T::flavors>("flavors", "Flavor given for each resource."),
      field<&T::resource_usage>("resourceUsage", "Requests of all pods together."),
      field<&T::count>("count", "Number of pods counted.", {.minimum = 0}),
      schema_field<Value>("topologyAssignment", "Stored, without effect.",
                          {.preserve_unknown = true}),
      schema_field<std::string>("delayedTopologyRequest", "Stored, without effect."),
  };
  static const TypeInfo kType{.name = "PodSetAssignment", .fields = kFields};
  return kType;
}

const TypeInfo& Describe<Admission>::type() {
  using T = Admission;
  static const FieldInfo kFields[] = {
      field<&T::cluster_queue>("clusterQueue", "ClusterQueue that provides the quota.",
                               {.required = true, .pattern = kSubdomainPattern, .max_length = 253}),
      field<&T::pod_set_assignments>(
          "podSetAssignments", "What each pod set was given.",
          {.required = true, .max_items = 18, .list_type = "map", .list_keys = "name"}),
  };
  static const TypeInfo kType{.name = "Admission", .fields = kFields};
  return kType;
}

const TypeInfo& Describe<RequeueState>::type() {
  using T = RequeueState;
  static const FieldInfo kFields[] = {
      field<&T::count>("count", "How often it was queued again.", {.minimum = 0}),
      field<&T::requeue_at>("requeueAt", "Not before this time."),
  };
  static const TypeInfo kType{.name = "RequeueState", .fields = kFields};
  return kType;
}

const TypeInfo& Describe<ReclaimablePod>::type() {
  using T = ReclaimablePod;
  static const FieldInfo kFields[] = {
      field<&T::name>("name", "Name of the pod set.", {.required = true, .max_length = 63}),
      field<&T::count>("count", "Pods that need no quota any more.",
                       {.required = true, .minimum = 0}),
  };
  static const TypeInfo kType{.name = "ReclaimablePod", .fields = kFields};
  return kType;
}

const TypeInfo& Describe<AdmissionCheckState>::type() {
  using T = AdmissionCheckState;
  static const FieldInfo kFields[] = {
      field<&T::name>("name", "Name of the AdmissionCheck.", {.required = true, .max_length = 316}),
      field<&T::state>("state", "Where the check stands.",
                       {.required = true, .enum_values = "Pending|Ready|Retry|Rejected"}),
      field<&T::message>("message", "Why.", {.max_length = 32768}),
      field<&T::last_transition_time>("lastTransitionTime", "When the state last changed.",
                                      {.required = true}),
      field<&T::pod_set_updates>("podSetUpdates", "What the check adds to the pods.",
                                 {.schema_json = R"({
          "type": "array", "maxItems": 18, "x-kubernetes-list-type": "atomic",
          "items": {"type": "object", "required": ["name"], "properties": {
            "name": {"type": "string", "maxLength": 63},
            "labels": {"type": "object", "additionalProperties": {"type": "string"}},
            "annotations": {"type": "object", "additionalProperties": {"type": "string"}},
            "nodeSelector": {"type": "object", "additionalProperties": {"type": "string"}},
            "tolerations": {"type": "array", "maxItems": 8, "x-kubernetes-list-type": "atomic",
              "items": {"type": "object", "properties": {
                "key": {"type": "string"}, "operator": {"type": "string"}, "value": {"type": "string"},
                "effect": {"type": "string"},
                "tolerationSeconds": {"type": "integer", "format": "int64"}}}}}}})"}),
      field<&T::requeue_after_seconds>("requeueAfterSeconds", "Pause before a retry.",
                                       {.minimum = 0}),
      field<&T::retry_count>("retryCount", "Retries so far.", {.minimum = 0}),
  };
  static const TypeInfo kType{.name = "AdmissionCheckState", .fields = kFields};
  return kType;
}

const TypeInfo& Describe<PodSetRequest>::type() {
  using T = PodSetRequest;
  static const FieldInfo kFields[] = {
      field<&T::name>("name", "Name of the pod set.", {.required = true, .max_length = 63}),
      field<&T::resources>("resources", "Requests of all pods together."),
  };
  static const TypeInfo kType{.name = "PodSetRequest", .fields = kFields};
  return kType;
}

const TypeInfo& Describe<EvictionCount>::type() {
  using T = EvictionCount;
  static const FieldInfo kFields[] = {
      field<&T::reason>("reason", "Reason of the eviction.", {.required = true, .max_length = 316}),
      field<&T::underlying_cause>("underlyingCause", "What was behind it.",
                                  {.required = true, .max_length = 316}),
      field<&T::count>("count", "How often.", {.required = true, .minimum = 0}),
  };
  static const TypeInfo kType{.name = "EvictionCount", .fields = kFields};
  return kType;
}

const TypeInfo& Describe<SchedulingStats>::type() {
  static const FieldInfo kFields[] = {field<&SchedulingStats::evictions>(
      "evictions", "Evictions by reason and cause.",
      {.list_type = "map", .list_keys = "reason,underlyingCause"})};
  static const TypeInfo kType{.name = "SchedulingStats", .fields = kFields};
  return kType;
}

const TypeInfo& Describe<WorkloadStatus>::type() {
  using T = WorkloadStatus;
  static const FieldInfo kFields[] = {
      field<&T::conditions>("conditions", "QuotaReserved, Admitted, Evicted, Finished and others.",
                            {.schema_json = kConditionsSchema}),
      field<&T::admission>("admission", "Quota the workload holds; absent while it waits."),
      field<&T::requeue_state>("requeueState", "Back-off after an eviction."),
      field<&T::reclaimable_pods>("reclaimablePods", "Pods that gave their quota back.",
                                  {.max_items = 18, .list_type = "map", .list_keys = "name"}),
      field<&T::admission_checks>("admissionChecks", "State of each check.",
                                  {.max_items = 8, .list_type = "map", .list_keys = "name"}),
      field<&T::resource_requests>("resourceRequests", "Requests last considered, while it waits.",
                                   {.max_items = 18, .list_type = "map", .list_keys = "name"}),
      field<&T::accumulated_past_execution_time_seconds>("accumulatedPastExecutionTimeSeconds",
                                                         "Time admitted in earlier rounds.",
                                                         {.minimum = 0}),
      field<&T::scheduling_stats>("schedulingStats", "Evictions so far."),
      schema_field<std::string>("clusterName", "Stored, without effect."),
      schema_field<std::vector<std::string>>("nominatedClusterNames", "Stored, without effect.",
                                             {.max_items = 10, .list_type = "set"}),
      schema_field<Value>("unhealthyNodes", "Stored, without effect.", {.schema_json = R"({
          "type": "array", "maxItems": 8, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
          "items": {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}}}})"}),
      schema_field<Value>("preemptionGates", "Stored, without effect.", {.schema_json = R"({
          "type": "array", "maxItems": 8, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
          "items": {"type": "object", "required": ["name"], "x-kubernetes-preserve-unknown-fields": true,
            "properties": {"name": {"type": "string"}}}})"}),
  };
  static const TypeInfo kType{.name = "WorkloadStatus", .fields = kFields};
  return kType;
}

// "Reserved" stands for: quota is reserved before and after the change.
#define ATHANOR_RESERVED(self)                                       \
  "has(" self ".status) && has(" self ".status.conditions) && " self \
  ".status.conditions.exists(c, c.type == 'QuotaReserved' && c.status == 'True')"
#define ATHANOR_BOTH_RESERVED "(" ATHANOR_RESERVED("oldSelf") ") && (" ATHANOR_RESERVED("self") ")"
#define ATHANOR_HAS(field) "has(self.spec." field ") && has(oldSelf.spec." field ")"
#define ATHANOR_SAME(field) "self.spec." field " == oldSelf.spec." field
// The same, or left out before and after.
#define ATHANOR_KEPT(field)                                                           \
  "has(self.spec." field ") == has(oldSelf.spec." field ") && (!has(self.spec." field \
  ") || " ATHANOR_SAME(field) ")"

std::string_view kueue::workload_rules_v1beta1() {
  return R"([{"message": "podSetAssignments must have the same number of podSets as the spec", "rule": ")"
         "!(" ATHANOR_RESERVED("self") ") || !has(self.status.admission) || size(self.spec.podSets) == size(self.status.admission.podSetAssignments)"
         R"("}, {"message": "priorityClassSource is immutable while workload quota reserved", "rule": ")"
         "!(" ATHANOR_BOTH_RESERVED ") || " ATHANOR_KEPT("priorityClassSource")
         R"("}, {"message": "priorityClassName is immutable while workload quota reserved", "rule": ")"
         "!(" ATHANOR_BOTH_RESERVED " && has(self.spec.priorityClassSource) && self.spec.priorityClassSource != 'kueue.x-k8s.io/workloadpriorityclass') || " ATHANOR_KEPT("priorityClassName")
         R"("}, {"message": "queueName is immutable while workload quota reserved", "rule": ")"
         "!(" ATHANOR_BOTH_RESERVED ") || " ATHANOR_KEPT("queueName")
         R"("}, {"message": "maximumExecutionTimeSeconds is immutable while workload quota reserved", "rule": ")"
         "!(" ATHANOR_BOTH_RESERVED ") || " ATHANOR_KEPT("maximumExecutionTimeSeconds")
         R"("}])";
}

const TypeInfo& Describe<Workload>::type() {
  static const FieldInfo kFields[] = {
      field<&Workload::spec>("spec", "What asks for quota."),
      field<&Workload::status>("status", "What it was given."),
  };
  static const TypeInfo kType{
      .name = "Workload",
      .doc = "A request for quota: pods that are admitted together.",
      .fields = kFields,
      .validations_json =
          R"([{"message": "podSetAssignments must have the same number of podSets as the spec", "rule": ")"
          "!(" ATHANOR_RESERVED("self") ") || !has(self.status.admission) || size(self.spec.podSets) == size(self.status.admission.podSetAssignments)"
          R"("}, {"message": "priorityClassRef is immutable while workload quota reserved", "rule": ")"
          "!(" ATHANOR_BOTH_RESERVED ") || has(self.spec.priorityClassRef) == has(oldSelf.spec.priorityClassRef)"
          R"("}, {"message": "priorityClassRef.group is immutable while workload quota reserved", "rule": ")"
          "!(" ATHANOR_BOTH_RESERVED " && " ATHANOR_HAS("priorityClassRef") ") || " ATHANOR_SAME("priorityClassRef.group")
          R"("}, {"message": "priorityClassRef.kind is immutable while workload quota reserved", "rule": ")"
          "!(" ATHANOR_BOTH_RESERVED " && " ATHANOR_HAS("priorityClassRef") ") || " ATHANOR_SAME("priorityClassRef.kind")
          R"("}, {"message": "priorityClassRef.name is immutable while workload quota reserved", "rule": ")"
          "!(" ATHANOR_BOTH_RESERVED " && " ATHANOR_HAS("priorityClassRef") " && oldSelf.spec.priorityClassRef.kind != 'WorkloadPriorityClass') || " ATHANOR_SAME("priorityClassRef.name")
          R"("}, {"message": "queueName is immutable while workload quota reserved", "rule": ")"
          "!(" ATHANOR_BOTH_RESERVED ") || " ATHANOR_KEPT("queueName")
          R"("}, {"message": "maximumExecutionTimeSeconds is immutable while workload quota reserved", "rule": ")"
          "!(" ATHANOR_BOTH_RESERVED ") || has(self.spec.maximumExecutionTimeSeconds) == has(oldSelf.spec.maximumExecutionTimeSeconds) && (!has(self.spec.maximumExecutionTimeSeconds) || " ATHANOR_SAME("maximumExecutionTimeSeconds") ")"
          R"("}])"};
  return kType;
}

#undef ATHANOR_RESERVED
#undef ATHANOR_BOTH_RESERVED
#undef ATHANOR_HAS
#undef ATHANOR_SAME
#undef ATHANOR_KEPT

const TypeInfo& Describe<WorkloadPriorityClass>::type() {
  using T = WorkloadPriorityClass;
  static const FieldInfo kFields[] = {
      field<&T::value>("value", "The priority.", {.required = true}),
      field<&T::description>("description", "When to use the class.", {.max_length = 2048}),
  };
  static const TypeInfo kType{
      .name = "WorkloadPriorityClass", .doc = "A named priority in the queue.", .fields = kFields};
  return kType;
}

const TypeInfo& Describe<AdmissionCheckParameters>::type() {
  using T = AdmissionCheckParameters;
  static const FieldInfo kFields[] = {
      field<&T::api_group>("apiGroup", "Group of the parameters.",
                           {.required = true, .pattern = kSubdomainPattern, .max_length = 253}),
      field<&T::kind>("kind", "Kind of the parameters.", {.required = true, .max_length = 63}),
      field<&T::name>("name", "Name of the parameters.",
                      {.required = true, .pattern = kSubdomainPattern, .max_length = 63}),
  };
  static const TypeInfo kType{.name = "AdmissionCheckParametersReference", .fields = kFields};
  return kType;
}

const TypeInfo& Describe<AdmissionCheckSpec>::type() {
  using T = AdmissionCheckSpec;
  static const FieldInfo kFields[] = {
      field<&T::controller_name>(
          "controllerName", "Controller that answers the check.",
          {.required = true,
           .min_length = 1,
           .max_length = 153,
           .validations_json =
               R"([{"rule": "self == oldSelf", "message": "field is immutable"}])"}),
      field<&T::parameters>("parameters", "Settings of the controller."),
  };
  static const TypeInfo kType{.name = "AdmissionCheckSpec", .fields = kFields};
  return kType;
}

const TypeInfo& Describe<AdmissionCheckStatus>::type() {
  static const FieldInfo kFields[] = {field<&AdmissionCheckStatus::conditions>(
      "conditions", "Active: whether the controller answers.", {.schema_json = kConditionsSchema})};
  static const TypeInfo kType{.name = "AdmissionCheckStatus", .fields = kFields};
  return kType;
}

const TypeInfo& Describe<AdmissionCheck>::type() {
  static const FieldInfo kFields[] = {
      field<&AdmissionCheck::spec>("spec", "Who answers the check."),
      field<&AdmissionCheck::status>("status", "Whether it is answered."),
  };
  static const TypeInfo kType{
      .name = "AdmissionCheck", .doc = "A condition beside quota.", .fields = kFields};
  return kType;
}

}  // namespace athanor::api
