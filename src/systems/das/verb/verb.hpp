// SPDX-License-Identifier: Apache-2.0
// The verb `athanor slices`: the slots of every GPU, why a pod fits or not, what would fit, and
// which pods could move.
#pragma once

#include "runtime/view/verb.hpp"

namespace athanor::das {

// Returns the command with its subcommands.
Verb slices_verb();

}  // namespace athanor::das
