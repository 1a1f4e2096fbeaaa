// SPDX-License-Identifier: Apache-2.0
// Projects that the submit form offers (docs/spec/dashboard.md A8). Reads files.
#pragma once

#include <string>
#include <vector>

#include "console/model/settings.hpp"
#include "kube/value/value.hpp"

namespace athanor::console {

// One project with its presets.
struct Project {
  std::string name{};
  std::string cluster{};
  std::vector<std::string> presets{};
  std::vector<std::string> config_keys{};
};

// Returns the projects of the file of the settings, or of the repository that they name; a file
// that is missing or malformed has none.
std::vector<Project> read_projects(const Settings& settings);
// Returns the projects that a projects file lists.
std::vector<Project> parse_projects(std::string_view text);

Value to_value(const Project& project);

}  // namespace athanor::console
