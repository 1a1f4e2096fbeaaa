// SPDX-License-Identifier: Apache-2.0
// Shares of GPUs as plain data: how a GPU is divided, what pods ask for, the claims that hold it.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "kube/value/object.hpp"

namespace athanor::das {

// How a GPU is divided. The vendor reads it from the annotation and interprets it.
struct GpuSharing {
  std::string mode{};      // "timeslice", "mps", "partition", "vf"; empty: it is sliced
  int replicas = 0;        // of time-slicing; partitions, virtual functions
  std::string interval{};  // of time-slicing: Default, Short, Medium, Long
  int unit_gb = 0;         // of MPS: memory of one share
  std::string layout{};    // of partitions: "cpx-nps4"
  [[nodiscard]] bool sliced() const { return mode.empty(); }
  friend bool operator==(const GpuSharing&, const GpuSharing&) = default;
};

// A GPU with its mode and the shares that claims hold.
struct SharedGpu {
  std::string uuid{};
  GpuSharing sharing{};
  int memory_gib = 0;
  std::set<int> used{};  // indices of its shares that are taken
  bool healthy = true;
};

// One share of one container.
struct ShareRequest {
  std::string container{};
  std::string resource{};
  int index = 0;  // within the container's shares
};

// A claim with spec.share instead of a placement.
struct ShareClaim {
  Object object{};
  std::string type{};  // the GPU's mode
  std::string resource{};
  std::string gpu{};
  std::string container{};
  std::string pod_uid{};
  int index = 0;  // which of the GPU's shares
  std::string state{};
  std::int64_t memory_mib = 0;
  int thread_percent = 0;
};

using Variables = std::vector<std::pair<std::string, std::string>>;

}  // namespace athanor::das
