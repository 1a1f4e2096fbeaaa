// SPDX-License-Identifier: Apache-2.0
// The FournosCluster (docs/spec/hearth.md section 2): one GPU cluster that jobs may run on.
#pragma once

#include <cstddef>
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

namespace athanor::api {

// The kind FournosCluster.
inline constexpr Kind kFournosCluster{"fournos.dev", "v1", "FournosCluster", "fournosclusters",
                                      true};

// GPUs of one vendor and model. Who edits the list by hand may leave members out (2.6).
struct ClusterGpu {
  std::string vendor{};
  std::string model{};
  std::string short_name{};
  std::optional<std::int64_t> count{};
  std::optional<std::int64_t> node_count{};
};

// Times are texts: upstream's have microseconds and "+00:00", and are kept as they are.
struct ClusterHardware {
  std::vector<ClusterGpu> gpus{};
  std::int64_t total_gpus = 0;
  std::string last_discovery{};
  std::int64_t consecutive_failures = 0;
  std::string last_error{};
};

// spec (docs/spec/hearth.md 2.3).
struct FournosClusterSpec {
  std::string kubeconfig_secret{};
  std::string owner{};
  std::string ttl{};
  std::string gpu_discovery_interval{};
  std::optional<ClusterHardware> hardware{};
  bool cordoned = false;
  std::string deletion_policy{};  // Drain, Force, Retain
  std::map<std::string, std::string> node_selector{};
};

// status (docs/spec/hearth.md 2.4).
struct FournosClusterStatus {
  std::string kubeconfig_status{};  // Valid, Missing, Invalid, Unreachable
  bool locked = false;
  std::string lock_expires_at{};
  std::string owner_set_at{};
  std::string lock_job_name{};
  std::string gpu_summary{};
  Value conditions{};
  std::string lock_state{};  // Unlocked, Acquiring, Held, Lost, Failed
  std::string last_probe_time{};
  std::string server_version{};
  std::optional<std::int64_t> node_count{};
  Value nodes{};
  std::optional<std::int64_t> active_workloads{};
  std::int64_t observed_generation = 0;
};

// A FournosCluster.
struct FournosCluster {
  Object object{};
  FournosClusterSpec spec{};
  FournosClusterStatus status{};
  static const Kind& kind() { return kFournosCluster; }
};

// Annotation: "true" cordons a cluster while its kubeconfig is not valid.
inline constexpr std::string_view kAutoCordon = "fournos.dev/auto-cordon";
// Annotation: when the cluster's quota was put back into its queue, of the last ten minutes:
// "<time> <time>", the oldest first.
inline constexpr std::string_view kQuotaRepairs = "fournos.dev/quota-repairs";
// Number of repairs in this time after which one more is a fight (docs/spec/hearth.md 4).
inline constexpr std::size_t kMostQuotaRepairs = 5;
// Returns true if the cluster admits nothing new (docs/spec/hearth.md 8.6): by its spec, or by
// itself.
bool is_cordoned(const FournosCluster& cluster);

// Returns the definition of FournosCluster.
std::span<const CustomKind* const> hearth_kinds();

}  // namespace athanor::api

ATHANOR_DESCRIBED(athanor::api::ClusterGpu);
ATHANOR_DESCRIBED(athanor::api::ClusterHardware);
ATHANOR_DESCRIBED(athanor::api::FournosClusterSpec);
ATHANOR_DESCRIBED(athanor::api::FournosClusterStatus);
ATHANOR_DESCRIBED(athanor::api::FournosCluster);
