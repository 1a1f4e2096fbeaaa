// SPDX-License-Identifier: Apache-2.0
// The field tables of FournosCluster.
#include "systems/hearth/kinds/fournos_cluster.hpp"

#include "api/describe_ops.hpp"

namespace athanor::api {
namespace {

constexpr std::string_view kDurationPattern = "^[0-9]+(m|h|d)$";
constexpr std::string_view kRootDoc = "One GPU cluster that jobs may run on.";
constexpr std::string_view kSpecDoc = "Which cluster, and who holds it.";
constexpr std::string_view kStatusDoc = "What is known of it; written by the operator alone.";

// One list of conditions, replaced as a whole (no list map).
constexpr std::string_view kConditions = R"({
  "type": "array",
  "items": {"type": "object", "required": ["type", "status"], "properties": {
    "type": {"type": "string"}, "status": {"type": "string"},
    "lastTransitionTime": {"type": "string", "format": "date-time"},
    "reason": {"type": "string"}, "message": {"type": "string"}}}})";

constexpr std::string_view kNodes = R"({
  "type": "array",
  "items": {"type": "object", "required": ["name"], "properties": {
    "name": {"type": "string"}, "gpu": {"type": "string"},
    "allocatable": {"type": "integer"},
    "ready": {"type": "boolean"}, "schedulable": {"type": "boolean"}}}})";

constexpr PrinterColumn kColumns[] = {
    {.name = "Owner", .type = "string", .json_path = ".spec.owner"},
    {.name = "GPUs", .type = "string", .json_path = ".status.gpuSummary"},
    {.name = "Kubeconfig", .type = "string", .json_path = ".status.kubeconfigStatus"},
    {.name = "Locked", .type = "boolean", .json_path = ".status.locked"},
    {.name = "Lock Job", .type = "string", .json_path = ".status.lockJobName", .priority = 1},
    {.name = "TTL", .type = "string", .json_path = ".spec.ttl", .priority = 1},
    {.name = "Lock Expires", .type = "string", .json_path = ".status.lockExpiresAt", .priority = 1},
    {.name = "Age", .type = "date", .json_path = ".metadata.creationTimestamp"},
};
constexpr std::string_view kShortNames[] = {"fc", "fcluster"};
constexpr VersionInfo kVersions[] = {
    {.name = "v1", .type = &Describe<FournosCluster>::type, .columns = kColumns}};
constexpr CustomKind kCluster{.kind = &kFournosCluster,
                              .singular = "fournoscluster",
                              .short_names = kShortNames,
                              .versions = kVersions};

}  // namespace

const TypeInfo& Describe<ClusterGpu>::type() {
  using T = ClusterGpu;
  static const FieldInfo kFields[] = {
      field<&T::vendor>("vendor", "nvidia or amd."),
      field<&T::model>("model", "The product label of its nodes."),
      field<&T::short_name>("shortName", "What jobs call it: a100."),
      field<&T::count>("count", "How many GPUs."),
      field<&T::node_count>("nodeCount", "How many nodes carry them."),
  };
  static const TypeInfo kType{
      .name = "ClusterGpu", .doc = "GPUs of one vendor and model.", .fields = kFields};
  return kType;
}

const TypeInfo& Describe<ClusterHardware>::type() {
  using T = ClusterHardware;
  static const FieldInfo kFields[] = {
      field<&T::gpus>("gpus", "One entry a vendor and model."),
      field<&T::total_gpus>("totalGPUs", "Sum of the counts."),
      field<&T::last_discovery>("lastDiscovery", "When the cluster last answered.",
                                {.format = "date-time"}),
      field<&T::consecutive_failures>("consecutiveFailures",
                                      "Failed probes since the last good one."),
      field<&T::last_error>("lastError", "Why the last probe failed; absent after a good one."),
  };
  static const TypeInfo kType{.name = "ClusterHardware",
                              .doc = "What the cluster has; written by the operator.",
                              .fields = kFields};
  return kType;
}

const TypeInfo& Describe<FournosClusterSpec>::type() {
  using T = FournosClusterSpec;
  static const FieldInfo kFields[] = {
      field<&T::kubeconfig_secret>("kubeconfigSecret",
                                   "Secret with the kubeconfig, in the secrets namespace.",
                                   {.required = true}),
      field<&T::owner>("owner", "Owner of the lock on the cluster; empty: not locked."),
      field<&T::ttl>("ttl", "How long a lock lasts: 30m, 4h, 2d. Without one it has no end.",
                     {.pattern = kDurationPattern}),
      field<&T::gpu_discovery_interval>(
          "gpuDiscoveryInterval", "Time between probes of the cluster; 5m: the operator's default.",
          {.default_json = R"("5m")", .pattern = kDurationPattern}),
      field<&T::hardware>("hardware", "What the cluster has; written by the operator."),
      field<&T::cordoned>("cordoned", "Admit nothing new; what runs goes on."),
      field<&T::deletion_policy>(
          "deletionPolicy",
          "What deleting this object does with running work: Drain waits for it, Force ends it, "
          "Retain leaves flavor and quota behind.",
          {.enum_values = "Drain|Force|Retain"}),
      field<&T::node_selector>("nodeSelector", "Only nodes with these labels are counted."),
  };
  static const TypeInfo kType{.name = "FournosClusterSpec", .doc = kSpecDoc, .fields = kFields};
  return kType;
}

const TypeInfo& Describe<FournosClusterStatus>::type() {
  using T = FournosClusterStatus;
  static const FieldInfo kFields[] = {
      field<&T::kubeconfig_status>("kubeconfigStatus", "Whether the kubeconfig is of use.",
                                   {.enum_values = "Valid|Missing|Invalid|Unreachable"}),
      field<&T::locked>("locked", "Exclusive use of the cluster is requested."),
      field<&T::lock_expires_at>("lockExpiresAt", "When the lock ends by itself.",
                                 {.format = "date-time"}),
      field<&T::owner_set_at>("ownerSetAt", "When the lock was asked for.",
                              {.format = "date-time"}),
      field<&T::lock_job_name>("lockJobName", "The FournosJob that holds the cluster's slots."),
      field<&T::gpu_summary>("gpuSummary", "8x A100, 4x H200"),
      field<&T::conditions>("conditions",
                            "KubeconfigValid, GPUDiscovered, KueueSynced, Locked, Offboarding.",
                            {.schema_json = kConditions}),
      field<&T::lock_state>("lockState", "Whether the slots are really held.",
                            {.enum_values = "Unlocked|Acquiring|Held|Lost|Failed"}),
      field<&T::last_probe_time>("lastProbeTime", "When the cluster was last asked.",
                                 {.format = "date-time"}),
      field<&T::server_version>("serverVersion", "Version of the cluster's API server."),
      field<&T::node_count>("nodeCount", "How many nodes the cluster showed."),
      field<&T::nodes>("nodes", "Its nodes with GPUs, 64 at most.", {.schema_json = kNodes}),
      field<&T::active_workloads>("activeWorkloads", "Workloads that run there now."),
      field<&T::observed_generation>("observedGeneration", "Of the spec that this is about."),
  };
  static const TypeInfo kType{.name = "FournosClusterStatus", .doc = kStatusDoc, .fields = kFields};
  return kType;
}

const TypeInfo& Describe<FournosCluster>::type() {
  static const FieldInfo kFields[] = {
      field<&FournosCluster::spec>("spec", kSpecDoc),
      field<&FournosCluster::status>("status", kStatusDoc),
  };
  static const TypeInfo kType{.name = "FournosCluster", .doc = kRootDoc, .fields = kFields};
  return kType;
}

bool is_cordoned(const FournosCluster& cluster) {
  const std::string& kubeconfig = cluster.status.kubeconfig_status;
  return cluster.spec.cordoned || (cluster.object.annotation(kAutoCordon) == "true" &&
                                   !kubeconfig.empty() && kubeconfig != "Valid");
}

std::span<const CustomKind* const> hearth_kinds() {
  static constexpr const CustomKind* kKinds[] = {&kCluster};
  return kKinds;
}

}  // namespace athanor::api
