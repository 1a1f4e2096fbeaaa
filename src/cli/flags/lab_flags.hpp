// SPDX-License-Identifier: Apache-2.0
// Flags of athanor up and athanor simulate.
#pragma once

#include "cli/flags/options.hpp"

namespace athanor::flags {
class Verb;
}

namespace athanor::cli {

// Adds the verb up, respectively simulate.
void add_up(flags::Verb& app, UpOptions& options);
void add_simulate(flags::Verb& app, SimulateOptions& options);

}  // namespace athanor::cli
