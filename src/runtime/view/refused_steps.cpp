// SPDX-License-Identifier: Apache-2.0
#include "runtime/view/refused_steps.hpp"

#include <algorithm>

#include "runtime/view/failures.hpp"
#include "runtime/view/step.hpp"

namespace athanor {

std::vector<RefusedStep> take_refused(const View& view, Instant now, Plan& plan) {
  std::vector<RefusedStep> refused;
  std::erase_if(plan.steps(), [&](const Step& step) {
    // The question without a digest comes first: it is cheap, and nearly always enough.
    if (!view.observe(refusals_query(step), Duration::max()).error) {
      return false;
    }
    const Observed refusal = view.observe(refusal_query(step), Duration::max());
    if (!refusal.error || refusal.at + kRefusalWait <= now) {
      return false;
    }
    const Ref* target = target_of(step);
    refused.push_back({.target = target == nullptr ? Ref{} : *target, .error = *refusal.error});
    plan.wake_at(refusal.at + kRefusalWait);
    return true;
  });
  return refused;
}

}  // namespace athanor
