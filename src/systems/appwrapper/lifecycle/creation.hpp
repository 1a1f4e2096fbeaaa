// SPDX-License-Identifier: Apache-2.0
// Creation of the components in list order (docs/spec/appwrapper.md 5.4).
#pragma once

#include <string>

#include "runtime/view/plan.hpp"
#include "systems/appwrapper/lifecycle/context.hpp"

namespace athanor::appwrapper {

// Result of one pass of create_components().
struct Creation {
  enum class State : unsigned char {
    Done,     // every component is created
    Working,  // the plan creates, and enters the phase Running behind the last; else later runs go
              // on
    Waiting,  // a retryable error, or an answer that is not there yet
    Fatal,    // cannot be created
  };
  State state = State::Done;
  std::string error{};  // with Waiting (may be empty) and Fatal
  Plan plan{};          // steps, status writes among them
};
// Plans the components' creation; records their conditions in `edit`.
Creation create_components(const Context& context, StatusEdit& edit);

}  // namespace athanor::appwrapper
