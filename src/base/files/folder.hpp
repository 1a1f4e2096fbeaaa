// SPDX-License-Identifier: Apache-2.0
// Lists folders with errors as values: iterators of the standard library throw where a folder
// becomes unreadable half way.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"

namespace athanor {

// Makes a new folder for its owner alone, whose path begins with `prefix`; returns the path. Error:
// 500, which names the prefix and the cause.
Result<std::string> make_unique_folder(const std::string& prefix);
// Returns the names in a folder, sorted. Error: 404 where there is no folder, 400 where it cannot
// be read.
Result<std::vector<std::string>> list_folder(const std::string& path);
// Returns the names in a folder, sorted; none where it cannot be read.
std::vector<std::string> names_in_folder(const std::string& path);
// Returns the paths of all that is below a folder, each folder before its content; follows no link
// and leaves out what cannot be read.
std::vector<std::string> paths_below(const std::string& folder);
// Returns true if a path, appended to a folder's, names something below that folder: it is
// relative, not empty, and has no part `..`.
bool is_path_below(const std::string& path);

}  // namespace athanor
