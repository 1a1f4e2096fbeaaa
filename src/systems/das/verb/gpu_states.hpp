// SPDX-License-Identifier: Apache-2.0
// GpuState: one GPU as people and consoles read it: its mode, who holds what of it, and what still
// fits. Pure.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "kube/value/object.hpp"
#include "kube/value/value.hpp"

namespace athanor::das {

// A claim on a GPU.
struct GpuHolder {
  std::string claim{};
  std::string profile{};  // of a share: its resource; empty: the whole GPU
  Key pod{};
  std::string container{};
  std::string state{};         // "new" before it is set
  std::string created{};       // RFC 3339
  std::string reserved_for{};  // "ns/pod" of an evicted pod that returns; empty: none
  int start = 0;               // first slot; of a share: its index
  int size = 0;                // slots; of a share: 0
};

// Slots of an instance that DAS did not make.
struct ForeignSlice {
  int start = 0;
  int size = 0;
};

// A GPU of a NodeAccelerator.
struct GpuState {
  std::string node{};
  int index = 0;  // as the node numbers it
  std::string name{};
  std::string uuid{};
  std::string memory{};  // "40Gi"; empty: not published
  bool healthy = true;
  std::string mode{};      // "timeslice", "mps", "partition", "vf"; empty: it is sliced
  std::string resource{};  // of its shares
  int total = 0;           // slots, or shares
  int free = 0;            // of them that can be handed out now; 0 of an unhealthy GPU
  std::vector<ForeignSlice> foreign{};
  std::vector<GpuHolder> holders{};
  std::vector<std::pair<std::string, int>> room{};  // profile or resource, and how many more fit
  [[nodiscard]] bool sliced() const { return mode.empty(); }
};

// All GPUs by node in the order given, and claims of GPUs that no node publishes.
struct GpuStates {
  std::vector<GpuState> gpus{};
  std::vector<GpuHolder> lost{};
};
GpuStates gpu_states(std::span<const Object> nodes, std::span<const Object> claims);

// Returns {node, index, name, uuid, memory, health, mode, resource, total, free, foreign, holders,
// room}.
Value to_value(const GpuState& state);
// Returns a holder of a slice: {claim, profile, namespace, pod, container, state, start, size},
// and created, reservedFor where known.
Value to_value(const GpuHolder& holder);

}  // namespace athanor::das
