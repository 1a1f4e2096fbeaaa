// SPDX-License-Identifier: Apache-2.0
// The `timed` runtime: TimedPods on a clock that runs.
#pragma once

#include <memory>

#include "base/clock.hpp"
#include "embedded/nodes/pod_runtime.hpp"

namespace athanor::nodes {

// Returns a thread-safe runtime with one thread that calls the listener. `clock` outlives it.
std::unique_ptr<PodRuntime> timed_runtime(const Clock& clock);

}  // namespace athanor::nodes
