// SPDX-License-Identifier: Apache-2.0
// Settings of the AppWrapper system (docs/spec/appwrapper.md 6.1, 7.1, 8.2): the member
// `appwrapper` of the operator's configuration, laid over the defaults.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/time.hpp"
#include "kube/value/value.hpp"
#include "runtime/view/view.hpp"

namespace athanor::appwrapper {

// The section of View::config.
inline constexpr std::string_view kSection = "appwrapper";

// Section faultTolerance (docs/spec/appwrapper.md 6.1); annotations override it up to
// grace_ceiling.
struct FaultTolerance {
  Duration admission_grace = std::chrono::minutes(1);
  Duration warmup_grace = std::chrono::minutes(5);
  Duration failure_grace = std::chrono::minutes(1);
  Duration reset_pause = std::chrono::seconds(90);
  std::int64_t retry_limit = 3;
  Duration deletion_grace = std::chrono::minutes(10);
  Duration grace_ceiling = std::chrono::hours(24);
  Duration success_ttl = std::chrono::hours(168);
  bool delete_after_success = false;  // B-4
  // Removal deletes what has a component's kind and name, whoever owns it, as upstream does.
  bool delete_foreign = false;  // B-20
};

// A node label that marks a resource unhealthy, and the effect: NoSchedule, PreferNoSchedule or
// NoExecute.
struct ResourceTaint {
  std::string key{}, value{}, effect{};  // compared with labels of nodes
};

// Returns the taints of NVIDIA's GPUs (7.1).
std::map<std::string, std::vector<ResourceTaint>> default_taints();

// Section autopilot (docs/spec/appwrapper.md 7.1).
struct Autopilot {
  bool enabled = true;
  bool inject_anti_affinities = true;
  bool monitor_nodes = true;
  std::map<std::string, std::vector<ResourceTaint>> resource_taints{};  // by resource
  std::int64_t prefer_no_schedule_weight = 50;
  bool evacuate_unreachable = false;  // B-18
};

// Which AppWrappers are queued, and what their Workloads get: kueueJobReconciller, or in a lab and
// beside a Kueue of ours that Kueue's own configuration (queueing_of in model/managed.hpp).
struct Queueing {
  // The rules of Kueue's integration are served by us (enableKueueIntegrations).
  bool integrated = false;
  bool enabled = true;         // AppWrappers are among Kueue's integrations.frameworks
  bool without_queue = false;  // AppWrappers without a queue's name wait, too
  Value namespaces{};          // in which they do: a LabelSelector; Null: everywhere
  bool wait_for_pods_ready = true;
  bool granular = false;                     // the profile of reasons
  bool short_workload_names = false;         // names of Workloads have at most 63 characters
  std::vector<std::string> copied_labels{};  // of the AppWrapper, onto its Workload
  // How long an AppWrapper that Kueue deactivated stays; nullopt: for ever.
  std::optional<Duration> keep_deactivated{};
};

// All settings; the defaults are upstream's.
struct Settings {
  FaultTolerance fault_tolerance{};
  Autopilot autopilot{};
  bool user_rbac_check = true;
  bool strict_kinds = false;      // B-5
  std::int64_t max_pod_sets = 8;  // B-7
  std::string scheduler_name{};
  std::string default_queue_name{};
  std::string slack_queue_name{};  // the ClusterQueue whose lending shrinks (7.4)
  Queueing queueing{};             // of kueueJobReconciller; defaults where that does not count
};

// Defaults, and over them the members of `config` (an object or Null). Errors name the setting.
Result<Settings> read_settings(const Value& config);

// Returns the content of View::config; broken settings never get there.
Settings settings_of(const View& view);

}  // namespace athanor::appwrapper
