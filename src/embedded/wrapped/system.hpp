// SPDX-License-Identifier: Apache-2.0
// Kinds that AppWrappers wrap as a system, for labs (docs/spec/appwrapper.md 9.2).
#pragma once

#include "runtime/view/system.hpp"

namespace athanor::wrapped {

// Returns these kinds and their operators.
const System& system();

}  // namespace athanor::wrapped
