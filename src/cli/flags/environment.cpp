// SPDX-License-Identifier: Apache-2.0
// Reading the environment and files.
#include "cli/flags/environment.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/files/text_file.hpp"
#include "base/log.hpp"

extern char** environ;  // NOLINT(readability-redundant-declaration): POSIX leaves its declaration
                        // to the program

namespace athanor::cli {

std::map<std::string, std::string> environment_map() {
  std::map<std::string, std::string> variables;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::size_t equals = text.find('=');
    variables.emplace(text.substr(0, equals), text.substr(std::min(equals + 1, text.size())));
  }
  return variables;
}

std::string variable(const std::map<std::string, std::string>& variables, const std::string& name) {
  const auto found = variables.find(name);
  return found == variables.end() ? std::string() : found->second;
}

std::string user_name() {
  return variable(environment_map(), "USER");
}

void log_setting_warning(const std::string& warning) {
  log::write_always(log::Level::Warn, "a setting has no effect", {{"what", warning}});
}

}  // namespace athanor::cli
