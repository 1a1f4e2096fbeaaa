// SPDX-License-Identifier: Apache-2.0
// --systems: the process takes the place of upstream's own executable of a system. Its ConfigMap,
// flags and variables (runtime/view/process.hpp) become options of `athanor controllers`.
#pragma once

#include "base/result.hpp"
#include "cli/flags/controllers_flags.hpp"
#include "runtime/view/system.hpp"

namespace athanor::cli {

// Options and configuration after the stand-in's rules.
struct StandIn {
  ControllersOptions options{};
  SystemConfig documents{};  // configuration read from the cluster, by system
};
// Returns the options as they are where --systems is absent. Reads the ConfigMap, and makes it
// where there is none. Errors: two systems with executables of their own, an unknown one, flags
// that belong to none; no namespace; a ConfigMap that cannot be read or is wrong.
Result<StandIn> stand_in(const ControllersOptions& options);

}  // namespace athanor::cli
