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
// One Workload's life beside the queue: admission checks, deactivation, stopped queues, its
// priority class.
const Operator& workload_operator();
// Status, conditions and finalizers of queues and flavors.
const Operator& cluster_queue_operator();
const Operator& local_queue_operator();
const Operator& cohort_operator();
const Operator& resource_flavor_operator();
const Operator& admission_check_operator();

}  // namespace athanor::kueue
