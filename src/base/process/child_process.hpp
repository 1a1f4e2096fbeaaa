// SPDX-License-Identifier: Apache-2.0
// Arguments and environment of a program that posix_spawn starts.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace athanor {

// Returns this process' environment as NAME=VALUE, with `added` in place of variables of the same
// name.
std::vector<std::string> child_environment(
    const std::vector<std::pair<std::string, std::string>>& added);

// Returns the pointers into `words` and a null pointer behind them; they are valid as long as
// `words` is neither changed nor moved.
std::vector<char*> exec_pointers(std::vector<std::string>& words);

}  // namespace athanor
