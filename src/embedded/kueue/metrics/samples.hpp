// SPDX-License-Identifier: Apache-2.0
// What the queueing's instruments say: gauges of what there is, and what is counted when objects
// change. Pure.
#pragma once

#include "runtime/view/instruments.hpp"
#include "runtime/view/view.hpp"

namespace athanor::kueue {

// Adds the gauges of queues and of what waits in them.
void measure_queues(const View& view, Samples& samples);
// Adds the gauges of cohorts: sums over their subtrees, and their `shares` where queues share by
// weight.
void measure_cohorts(const View& view, bool shares, Samples& samples);
// Returns the value of a gauge of status.fairSharing: NaN for one that borrows with a weight of 0.
double share_gauge(const Value& fair_sharing);
// Adds what a change of a Workload's conditions counts for.
void count_change(const ObjectChanged& change, Samples& samples);
// Adds the time of an admission cycle.
void count_cycle(const Reconciled& run, Samples& samples);

}  // namespace athanor::kueue
