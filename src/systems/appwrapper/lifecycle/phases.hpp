// SPDX-License-Identifier: Apache-2.0
// The rows of the state machine, by phase (docs/spec/appwrapper.md 5.3). Each plan makes one
// transition at most.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "runtime/view/plan.hpp"
#include "systems/appwrapper/lifecycle/context.hpp"

namespace athanor::appwrapper {

// Returns the next steps of an AppWrapper in one phase, as all down to run_succeeded().
Plan run_new(const Context& context);
Plan run_suspended(const Context& context);
Plan run_resuming(const Context& context);
Plan run_running(const Context& context);
Plan run_resetting(const Context& context);
Plan run_suspending(const Context& context);
Plan run_failed(const Context& context);
Plan run_succeeded(const Context& context);
// Returns the next steps of an AppWrapper that is being deleted (5.7).
Plan run_deleting(const Context& context);

// Begins phase Suspending, with its event, of an AppWrapper that was suspended in another phase.
Plan begin_suspending(const Context& context, StatusEdit& edit);

// What a failure leads to.
struct Failure {
  std::int64_t counts = 1;  // added to resettingCount
  bool terminal = false;    // no retry
};
// Enters Resetting, or Failed where no retry is left; appends the write.
void reset_or_fail(const Context& context, StatusEdit& edit, Failure failure, Plan& plan);
// Returns the event Unhealthy with note "<reason>: <message>".
Emit unhealthy_event(const Context& context, std::string_view reason, const std::string& message);

}  // namespace athanor::appwrapper
