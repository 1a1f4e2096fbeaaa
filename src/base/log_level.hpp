// SPDX-License-Identifier: Apache-2.0
// The verbosity that objects of the API ask for, beside the one of the command line.
#pragma once

#include <string_view>

#include "base/log.hpp"

namespace athanor::log {

// Logs at least up to `level` from now on, whatever configure() said; Error: as it said. Replaces
// what an earlier call of this source asked for; of several sources the most verbose counts.
void at_least(std::string_view source, Level level);

}  // namespace athanor::log
