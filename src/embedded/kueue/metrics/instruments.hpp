// SPDX-License-Identifier: Apache-2.0
// Metrics of the queueing (docs/spec/kueue.md 14).
#pragma once

#include "runtime/view/instruments.hpp"

namespace athanor::kueue {

// Returns the counters, gauges and histograms that the engine keeps for the queueing.
const Instruments& kueue_instruments();

}  // namespace athanor::kueue
