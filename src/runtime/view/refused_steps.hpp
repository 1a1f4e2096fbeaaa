// SPDX-License-Identifier: Apache-2.0
// Leaves out the steps of a plan that the API server refuses, so that the steps behind them are
// sent (docs/engine.md 2, rule 4).
#pragma once

#include <vector>

#include "base/result.hpp"
#include "base/time.hpp"
#include "kube/value/object.hpp"
#include "runtime/view/plan.hpp"
#include "runtime/view/view.hpp"

namespace athanor {

// Delay before a refused step is sent again.
inline constexpr Duration kRefusalWait = std::chrono::seconds(30);

// A refused step: its target and the API server's answer.
struct RefusedStep {
  Ref target{};
  Error error{};
};
// Takes refused steps out of the plan and returns them in their order. Each is sent again after
// kRefusalWait, when the plan wakes.
std::vector<RefusedStep> take_refused(const View& view, Instant now, Plan& plan);

}  // namespace athanor
