// SPDX-License-Identifier: Apache-2.0
// Removal of the components (docs/spec/appwrapper.md 5.6).
#pragma once

#include <cstdint>

#include "runtime/view/plan.hpp"
#include "systems/appwrapper/lifecycle/context.hpp"

namespace athanor::appwrapper {

// One pass. Returns true if no component and no labelled pod is left. `edit` takes the conditions
// along; `deletes` gets what follows the status write, and when to look again.
bool remove_components(const Context& context, StatusEdit& edit, Plan& deletes);

}  // namespace athanor::appwrapper
