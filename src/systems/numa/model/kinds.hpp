// SPDX-License-Identifier: Apache-2.0
// The kinds of the NUMA stack (docs/spec/numa.md 2, 3, 4) and those of OpenShift that its manifests
// name (16.1).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "api/describe.hpp"
#include "kube/value/kind.hpp"
#include "kube/value/object.hpp"
#include "kube/value/value.hpp"

namespace athanor::numa {

// API group of the operator's kinds.
inline constexpr std::string_view kGroup = "nodetopology.openshift.io";

// Kinds of the NUMA stack; all are cluster-scoped.
inline constexpr Kind kOperatorKind{kGroup, "v1", "NUMAResourcesOperator", "numaresourcesoperators",
                                    false};
inline constexpr Kind kSchedulerKind{kGroup, "v1", "NUMAResourcesScheduler",
                                     "numaresourcesschedulers", false};
inline constexpr Kind kTopologyKind{"topology.node.k8s.io", "v1alpha2", "NodeResourceTopology",
                                    "noderesourcetopologies", false};

// Kinds of OpenShift and of the Prometheus operator; a cluster may lack them.
inline constexpr Kind kMachineConfigPool{"machineconfiguration.openshift.io", "v1",
                                         "MachineConfigPool", "machineconfigpools", false};
inline constexpr Kind kMachineConfig{"machineconfiguration.openshift.io", "v1", "MachineConfig",
                                     "machineconfigs", false};
inline constexpr Kind kKubeletConfig{"machineconfiguration.openshift.io", "v1", "KubeletConfig",
                                     "kubeletconfigs", false};
inline constexpr Kind kClusterVersion{"config.openshift.io", "v1", "ClusterVersion",
                                      "clusterversions", false};
inline constexpr Kind kInfrastructure{"config.openshift.io", "v1", "Infrastructure",
                                      "infrastructures", false};
inline constexpr Kind kClusterOperator{"config.openshift.io", "v1", "ClusterOperator",
                                       "clusteroperators", false};
inline constexpr Kind kOpenShiftScheduler{"config.openshift.io", "v1", "Scheduler", "schedulers",
                                          false};
inline constexpr Kind kSecurityContextConstraints{"security.openshift.io", "v1",
                                                  "SecurityContextConstraints",
                                                  "securitycontextconstraints", false};
inline constexpr Kind kServiceMonitor{"monitoring.coreos.com", "v1", "ServiceMonitor",
                                      "servicemonitors", true};

// Built-in kinds that the operators deploy.
inline constexpr Kind kRole{"rbac.authorization.k8s.io", "v1", "Role", "roles", true};
inline constexpr Kind kRoleBinding{"rbac.authorization.k8s.io", "v1", "RoleBinding", "rolebindings",
                                   true};
inline constexpr Kind kClusterRoleBinding{"rbac.authorization.k8s.io", "v1", "ClusterRoleBinding",
                                          "clusterrolebindings", false};
inline constexpr Kind kNetworkPolicy{"networking.k8s.io", "v1", "NetworkPolicy", "networkpolicies",
                                     true};

// Names of the only accepted NUMAResourcesOperator and NUMAResourcesScheduler.
inline constexpr const char* kOperatorName = "numaresourcesoperator";
inline constexpr const char* kSchedulerName = "numaresourcesscheduler";

// A name, or a pair of patterns.
struct NamespacedName {
  std::string ns{};
  std::string name{};
};

// Settings of a node group as written; nullopt: the default applies (see GroupConfig).
struct NodeGroupConfig {
  std::optional<std::string> pods_fingerprinting{};
  std::optional<std::string> info_refresh_mode{};
  std::optional<std::string> info_refresh_period{};
  std::optional<std::string> info_refresh_pause{};
  std::vector<Value> tolerations{};
};

// One entry of spec.nodeGroups; selects by MachineConfigPool labels or by pool name.
struct NodeGroup {
  Value machine_config_pool_selector{};  // Null: absent
  std::optional<std::string> pool_name{};
  std::map<std::string, std::string> annotations{};
  std::optional<NodeGroupConfig> config{};
};

// spec of NUMAResourcesOperator (docs/spec/numa.md 2.1).
struct OperatorSpec {
  std::vector<NodeGroup> node_groups{};
  std::string image_spec{};
  std::string log_level{};
  std::vector<NamespacedName> pod_excludes{};
};

// A NUMAResourcesOperator.
struct OperatorResource {
  Object object{};
  OperatorSpec spec{};
  static const Kind& kind() { return kOperatorKind; }
};

// Weight of a resource in the score.
struct ResourceWeight {
  std::string name{};
  std::int64_t weight = 0;
};
// spec.scoringStrategy: the strategy's name and the weights of resources.
struct ScoringStrategySpec {
  std::string type{};
  std::vector<ResourceWeight> resources{};
};

// spec of NUMAResourcesScheduler (docs/spec/numa.md 3.1). Empty and nullopt: the default applies.
struct SchedulerSpec {
  std::string image_spec{};
  std::string scheduler_name{};
  std::string log_level{};
  std::optional<std::string> cache_resync_period{};
  std::string cache_resync_debug{};
  std::string scheduler_informer{};
  std::string cache_resync_detection{};
  std::optional<ScoringStrategySpec> scoring_strategy{};
  std::string preemption_mode{};
  std::optional<std::int32_t> replicas{};
};

// A NUMAResourcesScheduler.
struct SchedulerResource {
  Object object{};
  SchedulerSpec spec{};
  static const Kind& kind() { return kSchedulerKind; }
};

// Returns the two operator kinds and NodeResourceTopology.
std::span<const api::CustomKind* const> numa_kinds();
// Returns kinds without which manifests for OpenShift are not accepted elsewhere.
std::span<const api::CustomKind* const> openshift_kinds();
// Returns the definition of NodeResourceTopology.
const api::CustomKind& topology_crd();

}  // namespace athanor::numa

ATHANOR_DESCRIBED(athanor::numa::NamespacedName);
ATHANOR_DESCRIBED(athanor::numa::NodeGroupConfig);
ATHANOR_DESCRIBED(athanor::numa::NodeGroup);
ATHANOR_DESCRIBED(athanor::numa::OperatorSpec);
ATHANOR_DESCRIBED(athanor::numa::OperatorResource);
ATHANOR_DESCRIBED(athanor::numa::ResourceWeight);
ATHANOR_DESCRIBED(athanor::numa::ScoringStrategySpec);
ATHANOR_DESCRIBED(athanor::numa::SchedulerSpec);
ATHANOR_DESCRIBED(athanor::numa::SchedulerResource);
