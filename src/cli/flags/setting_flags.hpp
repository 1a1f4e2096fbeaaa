// SPDX-License-Identifier: Apache-2.0
// Settings of systems on the command line: `--set NAME=VALUE`, over the environment's.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace athanor::flags {
class Verb;
}

namespace athanor::cli {

// Adds --set to the verb.
void add_settings(flags::Verb& verb, std::vector<std::string>& settings);
// Puts them over `variables`. Errors name a setting that no system has, and the nearest one.
Result<void> apply_settings(const std::vector<std::string>& settings,
                            std::map<std::string, std::string>& variables);
// Returns the error of reading settings as wrong usage if it names one that --set gave; a value of
// the environment or of a file stays a wrong configuration.
Error blame_flag(Error error, const std::vector<std::string>& settings);

// Returns the systems that a help text names: "fournos, hearth (both by default), das, numa, ...".
std::string system_names();

}  // namespace athanor::cli
