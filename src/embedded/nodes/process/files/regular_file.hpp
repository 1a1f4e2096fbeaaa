// SPDX-License-Identifier: Apache-2.0
// Files that a container could have put something else in place of: opened without waiting and
// without following links, and used only if they are regular files.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace athanor::nodes {

// Opens `path` for reading; -1 if it is not there or no regular file. Links on the way to the last
// name are followed.
int open_regular(const std::string& path);
// Opens as open_regular(), follows no link below `root`; `path` is relative to it.
int open_regular_below(const std::string& root, std::string_view path);
// Returns the first `limit` bytes; nullopt where open_regular_below() finds nothing.
std::optional<std::string> read_regular_below(const std::string& root, std::string_view path,
                                              std::size_t limit);

// Writes a new file in place of whatever has that name; directories stay and are an error. Links on
// the way to the last name are followed.
Result<void> write_new_file(const std::string& path, std::string_view data, unsigned mode);
// Writes as write_new_file() to `path` below `root`, in folders that are made; a link or file in
// the place of one of these gives way to a folder.
Result<void> write_new_file_below(const std::string& root, std::string_view path,
                                  std::string_view data, unsigned mode);
// Makes a folder below `root` and those above it, in the same way.
Result<void> make_folder_below(const std::string& root, std::string_view path);

}  // namespace athanor::nodes
