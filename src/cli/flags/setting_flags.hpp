// SPDX-License-Identifier: Apache-2.0
// Settings of systems on the command line: `--set NAME=VALUE`, over the environment's.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.hpp"

// NOLINTNEXTLINE(readability-identifier-naming): CLI11 has named itself
namespace CLI {
class App;
}

namespace athanor::cli {

// Adds --set to the verb.
void add_settings(CLI::App& verb, std::vector<std::string>& settings);
// Puts them over `variables`. Errors name a setting that no system has, and the nearest one.
Result<void> apply_settings(const std::vector<std::string>& settings,
                            std::map<std::string, std::string>& variables);

}  // namespace athanor::cli
