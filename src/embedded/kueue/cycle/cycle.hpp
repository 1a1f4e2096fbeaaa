// SPDX-License-Identifier: Apache-2.0
// The admission cycle (docs/spec/kueue.md 7.1): one pure function over what the view shows.
#pragma once

#include <cstdint>

#include "runtime/view/plan.hpp"
#include "runtime/view/view.hpp"

namespace athanor::kueue {

// How often a workload is told why it waits.
enum class Words : std::uint8_t { Always, Once };

// Keeps no memory between runs: each replays, over the state it sees, as many cycles of the
// reference as there is something to decide.
Plan run_cycle(const View& view, Instant now, Words words);

}  // namespace athanor::kueue
