// SPDX-License-Identifier: Apache-2.0
// Shares of GPUs as plain data: how a GPU is divided, what pods ask for, the claims that hold it.
#pragma once

#include <cstddef>
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
  int replicas = 0;        // of time-slicing; partitions, virtual functions; of each shared slice
  std::string interval{};  // of time-slicing: Default, Short, Medium, Long
  int unit_gb = 0;         // of MPS: memory of one share
  std::string layout{};    // of partitions: "cpx-nps4"
  // Where the shares are those of slices: all slices of the GPU are of one profile.
  std::string profile{};      // "3g.20gb"; empty: the GPU is shared as a whole
  std::vector<int> starts{};  // first slots of these slices
  int size = 0;               // slots of each
  [[nodiscard]] bool sliced() const { return mode.empty(); }
  // Returns the number of parts with shares: 1 for the GPU as a whole, or that of its slices.
  [[nodiscard]] int parts() const { return profile.empty() ? 1 : static_cast<int>(starts.size()); }
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

// Where a share is: a GPU by its index in a list, and the share's index there.
struct SharePlace {
  std::size_t gpu = 0;
  int index = 0;
  friend bool operator==(const SharePlace&, const SharePlace&) = default;
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
  int index = 0;          // which of the GPU's shares
  std::string profile{};  // of the slice that is shared; empty: the GPU is
  int start = 0;          // of the slice
  int size = 0;           // likewise
  std::string state{};
  std::int64_t memory_mib = 0;
  int thread_percent = 0;

  // Returns the name of the shared part: "GPU-...", or "GPU-...-4" for the slice from slot 4 on.
  [[nodiscard]] std::string part() const {
    return profile.empty() ? gpu : gpu + "-" + std::to_string(start);
  }
};

using Variables = std::vector<std::pair<std::string, std::string>>;

}  // namespace athanor::das
