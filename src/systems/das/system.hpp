// SPDX-License-Identifier: Apache-2.0
// DAS as a system: GPU slices on demand (docs/spec/das.md).
#pragma once

#include "runtime/view/system.hpp"

namespace athanor::das {

// Returns the system with its kinds, operators, scheduler plugins and webhooks.
const System& system();

}  // namespace athanor::das
