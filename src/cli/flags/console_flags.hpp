// SPDX-License-Identifier: Apache-2.0
// Flags of `athanor console`.
#pragma once

#include "cli/flags/options.hpp"

namespace athanor::flags {
class Verb;
}

namespace athanor::cli {

// Adds the verb with its flags.
void add_console(flags::Verb& app, ConsoleOptions& options);

}  // namespace athanor::cli
