// SPDX-License-Identifier: Apache-2.0
// The queue as a person asks for it: who holds what, who waits, in which place, and why.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kube/value/object.hpp"

namespace athanor::cli {

// One Workload with its place in the queue.
struct QueueEntry {
  Object workload{};
  std::string queue{};
  bool admitted = false;
  std::size_t position = 0;  // among those that wait in this queue, from 1; 0 when admitted
  std::int64_t priority = 0;
  std::string requests{};    // "fournos/cluster-slot=1,fournos/gpu-a100=2"
  std::string queue_says{};  // why it waits in Kueue's words, or which flavor it got
  std::string reason{};      // the same in short (reasons.hpp)
};

// Orders workloads as the admission engine does (docs/spec/kueue.md 7.2): admitted ones first, then
// by priority, then by age.
std::vector<QueueEntry> queue_entries(const std::vector<Object>& workloads);
// The place of one workload in its queue; nullopt when it is admitted or absent.
std::optional<std::size_t> queue_position(const std::vector<QueueEntry>& entries,
                                          const std::string& ns, const std::string& name);

}  // namespace athanor::cli
