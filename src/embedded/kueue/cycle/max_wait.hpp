// SPDX-License-Identifier: Apache-2.0
// The longest wait of a LocalQueue (docs/spec/kueue.md 17): a workload that waits for longer holds
// back all behind it in its ClusterQueue. Pure.
#pragma once

#include "base/time.hpp"
#include "embedded/kueue/cycle/flavor_assigner.hpp"
#include "embedded/kueue/cycle/snapshot.hpp"
#include "kube/value/object.hpp"

namespace athanor::kueue {

// Returns true if a workload waits for longer than its LocalQueue's max-wait.
bool is_overdue(const Snapshot& queues, const Object& workload, Instant now);
// Returns true if every pod set that has no room would have some once others end: one that never
// fits holds back none.
bool waits_for_others(const Assignment& assignment);

}  // namespace athanor::kueue
