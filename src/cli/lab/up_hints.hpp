// SPDX-License-Identifier: Apache-2.0
// What to type in a lab that has just been lit.
#pragma once

#include <string>

#include "embedded/lab/file/lab_file.hpp"

namespace athanor::cli {

// Returns commands that work in this lab, a line each: about its jobs, clusters and nodes, as far
// as it has some.
std::string up_hints(const lab::Lab& lab, const lab::ReadFile& read_file);

}  // namespace athanor::cli
