// SPDX-License-Identifier: Apache-2.0
// The admission cycle (docs/spec/kueue.md 7.1): one pure function over what the view shows.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/view/plan.hpp"
#include "runtime/view/view.hpp"

namespace athanor::kueue {

// Which messages of waiting workloads a cycle writes: each that differs from the stored one (behind
// the first workload of a shape, as soon as a run admits and preempts none), or a fixed first one.
// The cycle itself leaves messages out, once for each shape: a filter of its plan would come after
// a message was formatted for every waiting workload.
enum class WaitMessages : std::uint8_t { Current, FirstOnly };

// Keeps no memory between runs: each replays, over the state it sees, as many cycles of the
// reference as there is something to decide, or until its plan has `most_steps` steps.
Plan run_cycle(const View& view, Instant now, WaitMessages messages,
               std::size_t most_steps = kStepsPerPlan);

}  // namespace athanor::kueue
