// SPDX-License-Identifier: Apache-2.0
// The flags of `athanor vault sync`.
#pragma once

#include "cli/flags/options.hpp"

namespace athanor::flags {
class Verb;
}

namespace athanor::cli {

// The flags of the verbs below `athanor vault`.
struct VaultVerbs {
  Target outer{};  // of the flags before `sync`
  VaultSyncOptions sync{};
};

// Adds the verbs with their flags.
void add_vault(flags::Verb& app, VaultVerbs& parsed);
// Returns the options of the chosen verb.
VaultSyncOptions chosen_of_vault(VaultVerbs& parsed);

}  // namespace athanor::cli
