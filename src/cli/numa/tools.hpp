// SPDX-License-Identifier: Apache-2.0
// The tools of the NUMA stack (systems/numa/tools/tool.hpp) on the command line.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/flags/options.hpp"

namespace athanor::cli {

// A tool and its arguments.
struct NumaToolRun {
  std::string tool{};  // either of its names
  std::vector<std::string> arguments{};
  Target target{};  // from flags before and after the tool's name
};

// Returns the tool that the command line means: `athanor numa TOOL ...`, or a program under the
// name of one of upstream's tools. nullopt: another verb.
std::optional<NumaToolRun> numa_tool_of(const std::vector<std::string>& words);
// Returns the words of `athanor controllers --systems=numa` for a program under the name of
// upstream's operator, unless its flags make it print and end; other words as they are.
std::vector<std::string> as_controllers(std::vector<std::string> words);
// Runs it; returns the exit code.
int run(const NumaToolRun& tool);

}  // namespace athanor::cli
