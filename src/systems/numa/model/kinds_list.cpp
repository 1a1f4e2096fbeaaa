// SPDX-License-Identifier: Apache-2.0
// The custom kinds with their versions: v1alpha1 of the operator's kinds, NodeResourceTopology, and
// what stands in for OpenShift's.
#include "api/describe_ops.hpp"
#include "runtime/view/tls_profile.hpp"
#include "systems/numa/model/kinds.hpp"
#include "systems/numa/model/kinds_schemas.hpp"

namespace athanor::numa {
namespace {

using api::CustomKind;
using api::FieldInfo;
using api::schema_field;
using api::TypeInfo;
using api::VersionInfo;

constexpr std::string_view kOldGroups = R"json({
  "type": "array", "items": {"type": "object", "properties": {
    "disablePodsFingerprinting": {"type": "boolean"},
    "config": {"type": "object", "properties": {
      "podsFingerprinting": {"type": "string",
                             "enum": ["Disabled", "Enabled", "EnabledExclusiveResources"]},
      "infoRefreshMode": {"type": "string", "enum": ["Periodic", "Events", "PeriodicAndEvents"]},
      "infoRefreshPeriod": {"type": "string"}}},
    "machineConfigPoolSelector": {
      "type": "object", "x-kubernetes-map-type": "atomic", "properties": {
        "matchLabels": {"type": "object", "additionalProperties": {"type": "string"}},
        "matchExpressions": {"type": "array", "items": {
          "type": "object", "required": ["key", "operator"], "properties": {
            "key": {"type": "string"}, "operator": {"type": "string"},
            "values": {"type": "array", "items": {"type": "string"}}}}}}}}}})json";
constexpr std::string_view kOldExcludes = R"json({
  "type": "array", "items": {"type": "object", "properties": {
    "namespace": {"type": "string"}, "name": {"type": "string"}}}})json";
constexpr std::string_view kLogLevels = "|Normal|Debug|Trace|TraceAll";

const TypeInfo& old_operator_spec() {
  static const FieldInfo kFields[] = {
      schema_field<Value>("nodeGroups", "Groups of nodes that get an exporter.",
                          {.schema_json = kOldGroups}),
      schema_field<std::string>("imageSpec", "Image of the exporter."),
      schema_field<std::string>("logLevel", "Verbosity of the exporter.",
                                {.default_json = R"("Normal")", .enum_values = kLogLevels}),
      schema_field<Value>("podExcludes", "Pods that the exporter does not see.",
                          {.schema_json = kOldExcludes}),
  };
  static const TypeInfo kType{.name = "NUMAResourcesOperatorSpec",
                              .doc = "Which nodes export their zones, and how.",
                              .fields = kFields};
  return kType;
}
constexpr api::MemberOps kOldOperatorSpec{.shape = api::Shape::Object, .type = old_operator_spec};

const TypeInfo& old_operator() {
  static const FieldInfo kFields[] = {
      {.name = "spec", .doc = "Which nodes export their zones.", .ops = &kOldOperatorSpec},
      schema_field<Value>("status", "What was deployed.",
                          {.schema_json = schemas::kOperatorStatus})};
  static const TypeInfo kType{.name = "NUMAResourcesOperator",
                              .doc = "Deploys an exporter of NUMA zones on groups of nodes.",
                              .fields = kFields};
  return kType;
}

const TypeInfo& old_scheduler_spec() {
  static const FieldInfo kFields[] = {
      schema_field<std::string>("imageSpec", "Image of the scheduler.", {.required = true}),
      schema_field<std::string>("schedulerName", "Name that pods ask for."),
      schema_field<std::string>("logLevel", "Verbosity of the scheduler.",
                                {.default_json = R"("Normal")", .enum_values = kLogLevels}),
      schema_field<std::string>("cacheResyncPeriod", "Time between resyncs; 0: no cache."),
  };
  static const TypeInfo kType{
      .name = "NUMAResourcesSchedulerSpec", .doc = "The secondary scheduler.", .fields = kFields};
  return kType;
}
constexpr api::MemberOps kOldSchedulerSpec{.shape = api::Shape::Object, .type = old_scheduler_spec};

const TypeInfo& old_scheduler() {
  static const FieldInfo kFields[] = {
      {.name = "spec", .doc = "The secondary scheduler.", .ops = &kOldSchedulerSpec},
      schema_field<Value>("status", "What was deployed.",
                          {.schema_json = schemas::kSchedulerStatus})};
  static const TypeInfo kType{.name = "NUMAResourcesScheduler",
                              .doc = "Deploys a scheduler that places pods by NUMA zone.",
                              .fields = kFields};
  return kType;
}

const TypeInfo& topology_v1alpha2() {
  static const FieldInfo kFields[] = {
      schema_field<std::vector<std::string>>("topologyPolicies",
                                             "Deprecated: see attributes; index 0 counts.",
                                             {.list_type = "atomic"}),
      schema_field<Value>("attributes", "Facts about the node as a whole.",
                          {.schema_json = schemas::kAttributes}),
      schema_field<Value>("zones", "The node's zones.",
                          {.required = true, .schema_json = schemas::kZones})};
  static const TypeInfo kType{.name = "NodeResourceTopology",
                              .doc = "Describes the zones of one node and what is free in them.",
                              .fields = kFields};
  return kType;
}

const TypeInfo& topology_v1alpha1() {
  static const FieldInfo kFields[] = {
      schema_field<std::vector<std::string>>("topologyPolicies",
                                             "Policy and scope; index 0 counts.",
                                             {.required = true, .list_type = "atomic"}),
      schema_field<Value>("zones", "The node's zones.",
                          {.required = true, .schema_json = schemas::kZones})};
  static const TypeInfo kType{.name = "NodeResourceTopology",
                              .doc = "Describes the zones of one node and what is free in them.",
                              .fields = kFields};
  return kType;
}

// Stored as it is sent: OpenShift itself checks these.
const TypeInfo& open_type() {
  static const FieldInfo kFields[] = {
      schema_field<Value>("spec", "As OpenShift defines it.", {.preserve_unknown = true}),
      schema_field<Value>("status", "As OpenShift defines it.", {.preserve_unknown = true})};
  static const TypeInfo kType{.name = "OpenShiftObject",
                              .doc = "Stored as it is sent.",
                              .fields = kFields,
                              .preserve_unknown = true};
  return kType;
}

constexpr std::string_view kOperatorShort[] = {"numaresop"};
constexpr std::string_view kSchedulerShort[] = {"numaressched"};
constexpr std::string_view kTopologyShort[] = {"node-res-topo"};
constexpr std::string_view kPoolShort[] = {"mcp"};
constexpr std::string_view kConfigShort[] = {"mc"};
constexpr std::string_view kConstraintsShort[] = {"scc"};

constexpr std::string_view kDeprecated = "nodetopology.openshift.io/v1alpha1 is deprecated; use v1";

constexpr VersionInfo kOperatorVersions[] = {
    {.name = "v1", .type = &api::Describe<OperatorResource>::type},
    {.name = "v1alpha1",
     .storage = false,
     .deprecation_warning = kDeprecated,
     .type = old_operator}};
constexpr VersionInfo kSchedulerVersions[] = {
    {.name = "v1", .type = &api::Describe<SchedulerResource>::type},
    {.name = "v1alpha1",
     .storage = false,
     .deprecation_warning = kDeprecated,
     .type = old_scheduler}};
constexpr VersionInfo kTopologyVersions[] = {
    {.name = "v1alpha1", .storage = false, .type = topology_v1alpha1, .status_subresource = false},
    {.name = "v1alpha2", .type = topology_v1alpha2, .status_subresource = false}};
constexpr std::pair<std::string_view, std::string_view> kApproved[] = {
    {"api-approved.kubernetes.io", "https://github.com/kubernetes/enhancements/pull/1870"}};

constexpr CustomKind kOperatorCrd{.kind = &kOperatorKind,
                                  .singular = "numaresourcesoperator",
                                  .short_names = kOperatorShort,
                                  .versions = kOperatorVersions};
constexpr CustomKind kSchedulerCrd{.kind = &kSchedulerKind,
                                   .singular = "numaresourcesscheduler",
                                   .short_names = kSchedulerShort,
                                   .versions = kSchedulerVersions};
constexpr CustomKind kTopologyCrd{.kind = &kTopologyKind,
                                  .singular = "noderesourcetopology",
                                  .short_names = kTopologyShort,
                                  .versions = kTopologyVersions,
                                  .annotations = kApproved};

constexpr VersionInfo kOpen[] = {{.name = "v1", .type = open_type}};
constexpr VersionInfo kOpenWithoutStatus[] = {
    {.name = "v1", .type = open_type, .status_subresource = false}};
constexpr CustomKind kOpenShift[] = {
    {.kind = &kMachineConfigPool,
     .singular = "machineconfigpool",
     .short_names = kPoolShort,
     .versions = kOpen},
    {.kind = &kMachineConfig,
     .singular = "machineconfig",
     .short_names = kConfigShort,
     .versions = kOpenWithoutStatus},
    {.kind = &kKubeletConfig, .singular = "kubeletconfig", .versions = kOpen},
    {.kind = &kClusterVersion, .singular = "clusterversion", .versions = kOpen},
    {.kind = &kClusterOperator, .singular = "clusteroperator", .versions = kOpen},
    {.kind = &kOpenShiftScheduler, .singular = "scheduler", .versions = kOpen},
    {.kind = &kInfrastructure, .singular = "infrastructure", .versions = kOpen},
    {.kind = &kOpenShiftServer, .singular = "apiserver", .versions = kOpen},
    {.kind = &kSecurityContextConstraints,
     .singular = "securitycontextconstraints",
     .short_names = kConstraintsShort,
     .versions = kOpenWithoutStatus},
    {.kind = &kServiceMonitor, .singular = "servicemonitor", .versions = kOpenWithoutStatus}};

}  // namespace

const CustomKind& topology_crd() {
  return kTopologyCrd;
}

std::span<const CustomKind* const> numa_kinds() {
  static constexpr const CustomKind* kKinds[] = {&kOperatorCrd, &kSchedulerCrd, &kTopologyCrd};
  return kKinds;
}

std::span<const CustomKind* const> openshift_kinds() {
  static const std::vector<const CustomKind*> kKinds = [] {
    std::vector<const CustomKind*> kinds;
    for (const CustomKind& kind : kOpenShift) {
      kinds.push_back(&kind);
    }
    return kinds;
  }();
  return kKinds;
}

}  // namespace athanor::numa
