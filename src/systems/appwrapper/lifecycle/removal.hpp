// SPDX-License-Identifier: Apache-2.0
// Removal of the components (docs/spec/appwrapper.md 5.6).
#pragma once

#include <cstdint>

#include "runtime/view/plan.hpp"
#include "systems/appwrapper/lifecycle/context.hpp"

namespace athanor::appwrapper {

// Makes one pass. Returns true if no component and no labelled pod is left. Records conditions in
// `edit`; `deletes` gets the steps after the status write, and the time of the next look.
bool remove_components(const Context& context, StatusEdit& edit, Plan& deletes);

}  // namespace athanor::appwrapper
