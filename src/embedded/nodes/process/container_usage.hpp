// SPDX-License-Identifier: Apache-2.0
// Usage of the processes of containers, from /proc.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>

namespace athanor::nodes {

struct ContainerUsage {
  std::int64_t cpu_nanoseconds = 0;  // since its start, with processes that have ended
  std::int64_t memory_bytes = 0;     // that no other process shares
};

// Returns the sums of the containers with these first processes, by their number: of each process
// in the same PID namespace, else of the first process alone. Costs O(processes of this machine).
std::map<int, ContainerUsage> usage_of(std::span<const int> first_processes);

// Returns the anonymous bytes of the container with this first process; pages that processes share
// count once. nullopt: they cannot be read. Reads the maps of each process: slow.
std::optional<std::int64_t> memory_without_shared_pages(int first_process);

}  // namespace athanor::nodes
