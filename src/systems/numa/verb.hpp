// SPDX-License-Identifier: Apache-2.0
// The verb `athanor numa`: zones with what is free, whether a request fits, why a pod fits or not.
#pragma once

#include "runtime/view/verb.hpp"

namespace athanor::numa {

// Returns the command with its subcommands and tools.
Verb numa_verb();

}  // namespace athanor::numa
