// SPDX-License-Identifier: Apache-2.0
// What long-running verbs take from their surroundings: environment and files.
#pragma once

#include <map>
#include <string>

#include "base/result.hpp"

namespace athanor::cli {

// Returns all environment variables. Call it while there is one thread.
std::map<std::string, std::string> environment_map();
// Returns a variable's value; empty where there is none.
std::string variable(const std::map<std::string, std::string>& variables, const std::string& name);
// Returns $USER; empty where it is not set. Call it while there is one thread.
std::string user_name();
// Logs a warning of a setting without effect.
void log_setting_warning(const std::string& warning);

}  // namespace athanor::cli
