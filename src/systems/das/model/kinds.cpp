// SPDX-License-Identifier: Apache-2.0
// The field tables of the kinds of DAS.
#include "systems/das/model/kinds.hpp"

#include "api/describe_ops.hpp"

namespace athanor::das {
namespace {

constexpr std::string_view kOperatorDoc = "The Dynamic Accelerator Slicer of a cluster.";
constexpr std::string_view kOperatorSpecDoc = "How the operator manages its operands.";
constexpr std::string_view kOperatorStatusDoc = "Observed state; written by the operator alone.";
constexpr std::string_view kNodeDoc = "The GPUs of one node and the slices they can hold.";
constexpr std::string_view kClaimDoc = "One slice of a GPU, promised to one pod.";

constexpr std::string_view kLogLevel =
    R"({"type": "string", "default": "Normal", "enum": ["", "Normal", "Debug", "Trace", "TraceAll"]})";
constexpr std::string_view kAnyObject =
    R"({"type": "object", "nullable": true, "x-kubernetes-preserve-unknown-fields": true})";

constexpr std::string_view kTolerations = R"JSON({
  "type": "array", "items": {"type": "object", "properties": {
    "key": {"type": "string"}, "operator": {"type": "string", "enum": ["Exists", "Equal"]},
    "value": {"type": "string"},
    "effect": {"type": "string", "enum": ["", "NoSchedule", "PreferNoSchedule", "NoExecute"]},
    "tolerationSeconds": {"type": "integer", "format": "int64"}}}})JSON";
constexpr std::string_view kResources = R"JSON({
  "type": "object", "properties": {
    "requests": {"type": "object", "additionalProperties": {"x-kubernetes-int-or-string": true,
      "anyOf": [{"type": "integer"}, {"type": "string"}]}},
    "limits": {"type": "object", "additionalProperties": {"x-kubernetes-int-or-string": true,
      "anyOf": [{"type": "integer"}, {"type": "string"}]}}}})JSON";

constexpr std::string_view kAnyPayload =
    R"({"type": "object", "x-kubernetes-preserve-unknown-fields": true})";

constexpr std::string_view kOperatorStatus = R"JSON({
  "type": "object",
  "properties": {
    "conditions": {
      "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"],
      "items": {"type": "object", "required": ["lastTransitionTime", "status", "type"], "properties": {
        "type": {"type": "string", "maxLength": 316,
          "pattern": "^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$"},
        "status": {"type": "string", "enum": ["True", "False", "Unknown"]},
        "lastTransitionTime": {"type": "string", "format": "date-time"},
        "reason": {"type": "string"}, "message": {"type": "string"}}}},
    "generations": {
      "type": "array", "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["group", "resource", "namespace", "name"],
      "items": {"type": "object", "required": ["group", "name", "namespace", "resource"], "properties": {
        "group": {"type": "string"}, "resource": {"type": "string"}, "namespace": {"type": "string"},
        "name": {"type": "string"}, "hash": {"type": "string"},
        "lastGeneration": {"type": "integer", "format": "int64"}}}},
    "latestAvailableRevision": {"type": "integer", "format": "int32",
      "x-kubernetes-validations": [{"rule": "self >= oldSelf", "message": "must only increase"}]},
    "observedGeneration": {"type": "integer", "format": "int64"},
    "readyReplicas": {"type": "integer", "format": "int32"},
    "version": {"type": "string"}}})JSON";

// metav1.Condition as a list map by type.
constexpr std::string_view kConditions = R"JSON({
  "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"],
  "items": {"type": "object",
    "required": ["lastTransitionTime", "message", "reason", "status", "type"], "properties": {
    "type": {"type": "string", "maxLength": 316,
      "pattern": "^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$"},
    "status": {"type": "string", "enum": ["True", "False", "Unknown"]},
    "observedGeneration": {"type": "integer", "format": "int64", "minimum": 0},
    "lastTransitionTime": {"type": "string", "format": "date-time"},
    "reason": {"type": "string", "minLength": 1, "maxLength": 1024,
      "pattern": "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$"},
    "message": {"type": "string", "maxLength": 32768}}}})JSON";

// The agent alone gives a claim to another pod of its node, when the kubelet gave that one its
// devices (docs/spec/das.md N-B13); where its slice is, and how large, never changes.
constexpr std::string_view kClaimSpec = R"JSON({
  "type": "object", "x-kubernetes-preserve-unknown-fields": true,
  "properties": {
    "gpuUUID": {"type": "string"}, "nodename": {"type": "string"}, "profile": {"type": "string"},
    "resource": {"type": "string"}, "type": {"type": "string"},
    "podRef": {"type": "object", "x-kubernetes-preserve-unknown-fields": true,
      "properties": {"uid": {"type": "string"}}},
    "migPlacement": {"type": "object", "x-kubernetes-preserve-unknown-fields": true,
    "required": ["size", "start"], "properties": {
      "size": {"type": "integer", "format": "int32"},
      "start": {"type": "integer", "format": "int32"}}}},
  "x-kubernetes-validations": [
    {"rule": "!has(self.migPlacement) || (self.migPlacement.start >= 0 && self.migPlacement.size >= 1 && self.migPlacement.start + self.migPlacement.size <= 8)",
     "message": "migPlacement must lie within 8 memory slices"},
    {"rule": "self == oldSelf || (has(self.podRef) && has(self.podRef.uid) && has(oldSelf.podRef) && has(oldSelf.podRef.uid) && has(self.nodename) && has(oldSelf.nodename) && self.nodename == oldSelf.nodename && has(self.gpuUUID) && has(oldSelf.gpuUUID) && self.gpuUUID == oldSelf.gpuUUID && (has(self.profile) ? has(oldSelf.profile) && self.profile == oldSelf.profile && has(self.migPlacement) && has(oldSelf.migPlacement) && self.migPlacement == oldSelf.migPlacement : has(self.resource) && has(oldSelf.resource) && self.resource == oldSelf.resource && has(self.type) && has(oldSelf.type) && self.type == oldSelf.type))",
     "message": "spec is immutable"}]})JSON";

constexpr api::PrinterColumn kClaimColumns[] = {
    {.name = "Age", .type = "date", .json_path = ".metadata.creationTimestamp"},
    {.name = "Node", .type = "string", .json_path = ".spec.nodename", .priority = 1},
    {.name = "GPU", .type = "string", .json_path = ".spec.gpuUUID", .priority = 1},
    {.name = "Profile", .type = "string", .json_path = ".spec.profile", .priority = 1},
    {.name = "Start", .type = "integer", .json_path = ".spec.migPlacement.start", .priority = 1},
    {.name = "Size", .type = "integer", .json_path = ".spec.migPlacement.size", .priority = 1},
    {.name = "State", .type = "string", .json_path = ".status.state", .priority = 1},
    {.name = "Pod", .type = "string", .json_path = ".spec.podRef.name", .priority = 1},
};
constexpr api::PrinterColumn kNodeColumns[] = {
    {.name = "Age", .type = "date", .json_path = ".metadata.creationTimestamp"},
    {.name = "Type", .type = "string", .json_path = ".spec.acceleratorType", .priority = 1},
    {.name = "Ready",
     .type = "string",
     .json_path = R"(.status.conditions[?(@.type=="Ready")].status)",
     .priority = 1},
};
constexpr std::string_view kClaimShortNames[] = {"alloc"};

constexpr api::VersionInfo kOperatorVersions[] = {
    {.name = "v1alpha1", .type = &api::Describe<DASOperator>::type}};
constexpr api::VersionInfo kNodeVersions[] = {
    {.name = "v1alpha1", .type = &api::Describe<NodeAccelerator>::type, .columns = kNodeColumns}};
constexpr api::VersionInfo kClaimVersions[] = {
    {.name = "v1alpha1", .type = &api::Describe<AllocationClaim>::type, .columns = kClaimColumns}};

// Stored as it is sent: the GPU operator itself checks it.
const api::TypeInfo& policy_type() {
  static const api::FieldInfo kFields[] = {
      api::schema_field<Value>("spec", "As the GPU operator defines it.",
                               {.preserve_unknown = true}),
      api::schema_field<Value>("status", "As the GPU operator defines it.",
                               {.preserve_unknown = true})};
  static const api::TypeInfo kType{
      .name = "ClusterPolicy", .doc = "Stored as it is sent.", .fields = kFields};
  return kType;
}
constexpr api::VersionInfo kPolicyVersions[] = {
    {.name = "v1", .type = policy_type, .status_subresource = false}};
constexpr api::CustomKind kPolicyKind{
    .kind = &kClusterPolicy, .singular = "clusterpolicy", .versions = kPolicyVersions};

constexpr api::CustomKind kOperatorKind{
    .kind = &kDASOperator, .singular = "dasoperator", .versions = kOperatorVersions};
constexpr api::CustomKind kNodeKind{
    .kind = &kNodeAccelerator, .singular = "nodeaccelerator", .versions = kNodeVersions};
constexpr api::CustomKind kClaimKind{.kind = &kAllocationClaim,
                                     .singular = "allocationclaim",
                                     .short_names = kClaimShortNames,
                                     .versions = kClaimVersions};

}  // namespace

std::span<const api::CustomKind* const> das_kinds() {
  static constexpr const api::CustomKind* kKinds[] = {&kOperatorKind, &kNodeKind, &kClaimKind};
  return kKinds;
}

const api::CustomKind& cluster_policy_kind() {
  return kPolicyKind;
}

}  // namespace athanor::das

namespace athanor::api {

using namespace das;  // the tables name the described structs

const TypeInfo& Describe<DASOperatorSpec>::type() {
  using T = DASOperatorSpec;
  static const FieldInfo kFields[] = {
      field<&T::management_state>("managementState", "Whether and how operands are managed.",
                                  {.pattern = "^(Managed|Unmanaged|Force|Removed)$"}),
      field<&T::log_level>("logLevel", "Verbosity of the operands.", {.schema_json = kLogLevel}),
      field<&T::operator_log_level>("operatorLogLevel", "Verbosity of the operator.",
                                    {.schema_json = kLogLevel}),
      field<&T::observed_config>("observedConfig", "Configuration that the operator observed.",
                                 {.schema_json = kAnyObject}),
      field<&T::unsupported_config_overrides>(
          "unsupportedConfigOverrides", "Overrides without support.", {.schema_json = kAnyObject}),
      field<&T::node_selector>("nodeSelector", "Merged over the agent's node selector."),
      field<&T::tolerations>("tolerations", "Of the agent's pods; absent: of every taint.",
                             {.schema_json = kTolerations}),
      field<&T::priority_class_name>("priorityClassName",
                                     "Of the agent's pods; absent: system-node-critical."),
      field<&T::resources>("resources",
                           "Of the agent's container; absent: requests of cpu 10m, memory 64Mi.",
                           {.schema_json = kResources}),
  };
  static const TypeInfo kType{
      .name = "DASOperatorSpec", .doc = kOperatorSpecDoc, .fields = kFields};
  return kType;
}

const TypeInfo& Describe<DASOperator>::type() {
  static const FieldInfo kFields[] = {
      field<&DASOperator::spec>("spec", kOperatorSpecDoc, {.required = true}),
      field<&DASOperator::status>("status", kOperatorStatusDoc, {.schema_json = kOperatorStatus}),
  };
  static const TypeInfo kType{.name = "DASOperator", .doc = kOperatorDoc, .fields = kFields};
  return kType;
}

const TypeInfo& Describe<NodeAcceleratorSpec>::type() {
  static const FieldInfo kFields[] = {
      field<&NodeAcceleratorSpec::accelerator_type>(
          "acceleratorType", "Which driver serves the node; empty: nvidia-mig."),
  };
  static const TypeInfo kType{
      .name = "NodeAcceleratorSpec", .doc = "The kind of accelerator.", .fields = kFields};
  return kType;
}

const TypeInfo& Describe<NodeAcceleratorStatus>::type() {
  using T = NodeAcceleratorStatus;
  static const FieldInfo kFields[] = {
      field<&T::conditions>("conditions", "Ready: all GPUs answer.", {.schema_json = kConditions}),
      field<&T::node_resources>("nodeResources", "GPUs and the placements of their profiles.",
                                {.schema_json = kAnyPayload}),
  };
  static const TypeInfo kType{.name = "NodeAcceleratorStatus",
                              .doc = "What the node has; written by its agent.",
                              .fields = kFields};
  return kType;
}

const TypeInfo& Describe<NodeAccelerator>::type() {
  static const FieldInfo kFields[] = {
      field<&NodeAccelerator::spec>("spec", "The kind of accelerator."),
      field<&NodeAccelerator::status>("status", "What the node has; written by its agent."),
  };
  static const TypeInfo kType{.name = "NodeAccelerator", .doc = kNodeDoc, .fields = kFields};
  return kType;
}

const TypeInfo& Describe<AllocationClaimStatus>::type() {
  using T = AllocationClaimStatus;
  static const FieldInfo kFields[] = {
      field<&T::state>("state", "staged, created, processing, inUse or orphaned."),
      field<&T::conditions>("conditions", "The state, and when each state was reached.",
                            {.schema_json = kConditions}),
  };
  static const TypeInfo kType{
      .name = "AllocationClaimStatus", .doc = "How far the slice is.", .fields = kFields};
  return kType;
}

const TypeInfo& Describe<AllocationClaim>::type() {
  static const FieldInfo kFields[] = {
      field<&AllocationClaim::spec>("spec", "Which slice, and whose.", {.schema_json = kClaimSpec}),
      field<&AllocationClaim::status>("status", "How far the slice is."),
  };
  static const TypeInfo kType{.name = "AllocationClaim", .doc = kClaimDoc, .fields = kFields};
  return kType;
}

}  // namespace athanor::api
