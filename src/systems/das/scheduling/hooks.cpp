// SPDX-License-Identifier: Apache-2.0
#include "systems/das/scheduling/hooks.hpp"

#include "systems/das/scheduling/slice_hooks.hpp"
#include "systems/das/sharing/hooks.hpp"

namespace athanor::das {

std::span<const SchedulingHooks* const> das_scheduling() {
  static const SchedulingHooks* const kHooks[] = {&mig_scheduling(), &share_scheduling()};
  return kHooks;
}

}  // namespace athanor::das
