// SPDX-License-Identifier: Apache-2.0
// The verbosity that an object of the API asks for, beside the one of the command line.
#pragma once

#include "base/log.hpp"

namespace athanor::log {

// Logs at least up to `level` from now on, whatever configure() said; Error: as it said. Replaces
// what an earlier call asked for.
void at_least(Level level);

}  // namespace athanor::log
