// SPDX-License-Identifier: Apache-2.0
// The rows of the state machine, by phase (docs/spec/appwrapper.md 5.3). Each plan makes one
// transition at most.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "runtime/view/plan.hpp"
#include "systems/appwrapper/lifecycle/tick.hpp"

namespace athanor::appwrapper {

Plan run_new(const Tick& tick);
Plan run_suspended(const Tick& tick);
Plan run_resuming(const Tick& tick);
Plan run_running(const Tick& tick);
Plan run_resetting(const Tick& tick);
Plan run_suspending(const Tick& tick);
Plan run_failed(const Tick& tick);
Plan run_succeeded(const Tick& tick);
// The AppWrapper is being deleted (5.7).
Plan run_deleting(const Tick& tick);

// Suspended while in `phase`: the event and the phase Suspending.
Plan begin_suspending(const Tick& tick, StatusEdit& edit);

// What a failure leads to.
struct Failure {
  std::int64_t counts = 1;  // added to resettingCount
  bool terminal = false;    // no retry
};
// Enters Resetting, or Failed where no retry is left; appends the write.
void reset_or_fail(const Tick& tick, StatusEdit& edit, Failure failure, Plan& plan);
Emit unhealthy_event(const Tick& tick, std::string_view reason, const std::string& message);

}  // namespace athanor::appwrapper
