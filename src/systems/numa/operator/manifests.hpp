// SPDX-License-Identifier: Apache-2.0
// The objects that the operators deploy (docs/spec/numa.md 6.5, 6.6, 8.4, 8.5), without owner.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kube/value/value.hpp"
#include "systems/numa/model/kinds.hpp"
#include "systems/numa/model/settings.hpp"
#include "systems/numa/operator/node_groups.hpp"

namespace athanor::numa {

// Pods with this annotation run nothing on emulated nodes: their containers wait.
inline constexpr const char* kEmulateAnnotation = "athanor.dev/emulate";
// Label "name" of the exporter's pods.
inline constexpr const char* kRteLabel = "resource-topology";
// Names of the scheduler's Deployment and ConfigMap.
inline constexpr const char* kDeploymentName = "secondary-scheduler";
inline constexpr const char* kSchedulerConfig = "topo-aware-scheduler-config";
// Conditions of the exporter's pods, which are also their readiness gates (docs/spec/numa.md 9.10).
inline constexpr const char* kReadinessGates[] = {"PodresourcesFetched", "NodeTopologyUpdated"};

// Returns "-v=2" and up.
std::string verbosity_flag(std::string_view log_level);
// Returns "numaresourcesoperator-<pool>".
std::string daemon_set_name(std::string_view pool);
// Returns "SHA256:..." of a ConfigMap's data; empty without one.
std::string config_hash(const Value& data);

// Accounts, roles, policies of the network and of writes, and, on OpenShift, security constraints
// of the exporter. In a lab, whose exporters have no tokens, no policy of writes.
std::vector<Value> exporter_objects(const Settings& settings, Platform platform);
// Returns the Roles and ClusterRoles among the objects.
std::vector<Value> roles_among(const std::vector<Value>& objects);
// Returns the Service of the exporters' metrics.
Value exporter_service(const Settings& settings);
// Returns the exporter's DaemonSet for one pool.
Value exporter_daemon_set(const Settings& settings, Platform platform, const OperatorSpec& spec,
                          const Pool& pool, const std::string& hash);

// The scheduler's settings with all defaults filled in.
struct SchedulerPlan {
  std::string name{};  // of the profile
  std::int64_t resync_seconds = 5;
  bool shared_informer = false;
  std::int32_t replicas = 1;
  bool require_topology = false;        // nodes without NodeResourceTopology are refused
  bool trust_unfingerprinted = false;   // objects written by hand are used after a change
  bool discard_reserved = false;        // a node takes one pod at a time
  std::vector<std::string> policies{};  // filtered besides single-numa-node
  bool count_sidecars = true;           // beside what starts after them
  bool ignore_unlisted = false;         // LeastNUMANodes leaves out what no zone lists
};
// Returns the KubeSchedulerConfiguration as YAML (docs/spec/numa.md 8.5).
std::string scheduler_config(const Settings& settings, const SchedulerSpec& spec,
                             const SchedulerPlan& plan);
// Returns all objects of the scheduler (8.4). `guaranteed`: the Deployment's pods get QoS class
// Guaranteed.
std::vector<Value> scheduler_objects(const Settings& settings, const SchedulerSpec& spec,
                                     const SchedulerPlan& plan, bool guaranteed);

}  // namespace athanor::numa
