// SPDX-License-Identifier: Apache-2.0
// The admission engine's operators (docs/spec/kueue.md sections 6 to 9).
#pragma once

#include "runtime/view/operator.hpp"

namespace athanor::kueue {

// Admits pending Workloads, or says why not. One key: every decision sees all queues.
const Operator& scheduler_operator();
// Decides the same, but writes why a Workload waits only once. Messages that change with every
// release of quota are most of the writes of a busy fleet, and the trace simulator reads none.
const Operator& trace_scheduler_operator();
// Returns the operator of one Workload's life beside the queue: admission checks, deactivation,
// stopped queues, its priority class.
const Operator& workload_operator();
// Writes conditions, counts and usage of ClusterQueues, and keeps their finalizer.
const Operator& cluster_queue_operator();
// Writes condition Active, counts and usage of LocalQueues.
const Operator& local_queue_operator();
// Writes status.fairSharing of Cohorts.
const Operator& cohort_operator();
// Releases the finalizer of a deleted ResourceFlavor once no ClusterQueue names it.
const Operator& resource_flavor_operator();
// Releases the finalizer of a deleted AdmissionCheck once no ClusterQueue names it, and marks
// checks of unsupported controllers inactive (docs/spec/kueue.md 15).
const Operator& admission_check_operator();

}  // namespace athanor::kueue
