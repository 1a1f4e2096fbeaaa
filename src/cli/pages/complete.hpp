// SPDX-License-Identifier: Apache-2.0
// `athanor __complete --line LINE`: what the scripts of the shells ask.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace athanor::cli {

// Prints a candidate a line, with a tab and a help text where there is one; ":files" at the end
// where files are meant. Returns the exit code; nullopt: the words ask for another verb. Objects
// are looked for within three seconds.
std::optional<int> complete_line(const std::vector<std::string>& words);

}  // namespace athanor::cli
