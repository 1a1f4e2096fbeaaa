// SPDX-License-Identifier: Apache-2.0
// The workloads that hold quota, as sums that the engine's caches keep.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "embedded/kueue/cycle/snapshot.hpp"
#include "runtime/view/operator.hpp"
#include "runtime/view/view.hpp"

namespace athanor::kueue {

// Returns true if a workload has quota reserved, is active and not finished.
bool holds_quota(const Object& workload);
// Returns the index "kueue-reserved-in": the ClusterQueue whose quota a workload, active and not
// finished, holds; or "kueue-reserved-local": "namespace/queue" of its LocalQueue.
const Index& reserved_index();
const Index& reserved_local_index();
// Returns the index "kueue-not-ready": "all" while a workload holds quota with unready pods.
const Index& not_ready_index();

// Selects the workloads of not_ready_index().
Select not_ready();
// Selects those that hold quota of a ClusterQueue.
Select reserved_in(const std::string& cluster_queue);
// Selects those that hold quota by a LocalQueue.
Select reserved_local(const Key& local_queue);

// Numbers and quota of the workloads of a select: with quota reserved, and of these the admitted.
struct Tally {
  std::int64_t reserving = 0;
  std::int64_t admitted = 0;
  std::map<FlavorResource, Amount> reservation{};
  std::map<FlavorResource, Amount> usage{};
};
// Returns the sums for a select of reserved_in() or reserved_local(), as the caches keep them.
Tally tally_of(const View& view, const Select& select);

// Counts the quota in use into the snapshot's tree, or a copy of it.
void count_usage(const Snapshot& snapshot, QuotaTree& quota, const View& view);

}  // namespace athanor::kueue
