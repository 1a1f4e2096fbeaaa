// SPDX-License-Identifier: Apache-2.0
// How long the admission cycle takes by itself: preemption, fair sharing, many that wait.
#pragma once

namespace athanor::bench {

// Prints a line for each figure beside its target. Returns false where one is missed.
bool measure_decisions();

}  // namespace athanor::bench
