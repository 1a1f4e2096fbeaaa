// SPDX-License-Identifier: Apache-2.0
// What the queueing's instruments say: gauges of what there is, and what is counted when objects
// change. Pure.
#pragma once

#include "runtime/view/instruments.hpp"
#include "runtime/view/view.hpp"

namespace athanor::kueue {

// Adds the gauges of queues and of what waits in them.
void measure_queues(const View& view, Samples& samples);
// Adds what a change of a Workload's conditions counts for.
void count_change(const ObjectChanged& change, Samples& samples);
// Adds the time of an admission cycle.
void count_cycle(const Reconciled& run, Samples& samples);

}  // namespace athanor::kueue
