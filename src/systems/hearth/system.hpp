// SPDX-License-Identifier: Apache-2.0
// Hearth as a system: GPU clusters onboarded, watched and locked (docs/spec/hearth.md).
#pragma once

#include "runtime/view/system.hpp"

namespace athanor::hearth {

// Returns the system with its kind, operators and settings.
const System& system();

}  // namespace athanor::hearth
