// SPDX-License-Identifier: Apache-2.0
// The queue as a person asks for it: who holds what, who waits, in which place, and why.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "kube/value/object.hpp"
#include "views/listing.hpp"
#include "views/reasons.hpp"

namespace athanor::views {

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

// The resource groups of each LocalQueue's ClusterQueue.
using QueueGroups = std::map<Key, FlavorGroups>;
QueueGroups queue_groups(const std::vector<Object>& local_queues,
                         const std::vector<Object>& cluster_queues);

// Orders workloads as the admission engine does (docs/spec/kueue.md 7.2): by LocalQueue, admitted
// ones first, then by priority, then by age. `groups` may lack queues that cannot be read.
std::vector<QueueEntry> queue_entries(const std::vector<Object>& workloads,
                                      const QueueGroups& groups = {});
// Columns of the queue; the last is WHY.
struct QueueColumns {
  bool with_namespace = false;
  bool wide = false;  // what the queueing says as it is, not in short
};
// Returns the states that --phase takes: running and waiting.
const std::vector<std::string>& queue_phases();
// Returns the titles of the columns that queue_row() fills.
std::vector<std::string> queue_header();
ListRow queue_row(const QueueEntry& entry, const QueueColumns& columns);
// Returns the queue as rows.
Listing queue_listing(const std::vector<QueueEntry>& entries, const QueueColumns& columns);

// Returns the place of one workload in its queue; nullopt when it is admitted or absent.
std::optional<std::size_t> queue_position(const std::vector<QueueEntry>& entries,
                                          const std::string& ns, const std::string& name);

}  // namespace athanor::views
