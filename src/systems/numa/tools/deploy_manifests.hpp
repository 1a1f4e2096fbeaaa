// SPDX-License-Identifier: Apache-2.0
// Manifests of the deployer (docs/spec/numa.md 13.2): API, topology updater, scheduler plugin,
// without the operator.
#pragma once

#include <string>
#include <vector>

#include "kube/value/value.hpp"

namespace athanor::numa {

// Flags of the deployer.
struct DeployOptions {
  bool openshift = false;
  bool nfd = false;
  std::int32_t replicas = 1;
  bool pull_if_not_present = false;
  bool fingerprint = true;
  bool notification = false;
  bool cri_hooks = false;
  bool custom_policy = false;      // SELinux
  std::string constraints = "v2";  // v1: those of the SELinux policy
  std::string sync_period = "10s";
  int updater_verbosity = 2;
  std::string profile = "topo-aware-scheduler";
  std::int64_t resync_seconds = 0;  // 0: no cache
  int scheduler_verbosity = 4;
  bool control_plane_affinity = false;
  std::string lease = "numa-scheduler-leader";
  std::string exporter_config{};  // text of --rte-config-file; empty: none
  Value scoring{};                // of --sched-scoring-strat-config-file; Null: none
  Value cache{};                  // of --sched-cache-params-config-file; Null: none
  bool emulated = false;          // by a lab: pods of the operands wait
};

// Namespaces of the updater and of the scheduler plugin.
inline constexpr const char* kUpdaterNamespace = "tas-topology-updater";
inline constexpr const char* kPluginNamespace = "tas-scheduler";

// Returns the manifests of one target, as do all below, in the order to apply: the API (the CRD
// alone), the topology updater (the exporter, or with `nfd` NFD's) and the scheduler plugin.
std::vector<Value> api_manifests();
std::vector<Value> updater_manifests(const DeployOptions& options);
std::vector<Value> plugin_manifests(const DeployOptions& options);

// Returns {name, image} of what is deployed.
Value deployed_images(const DeployOptions& options);

}  // namespace athanor::numa
