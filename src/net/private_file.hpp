// SPDX-License-Identifier: Apache-2.0
// Files that hold secrets: readable by their owner alone, replaced as a whole.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace athanor::net {

// Writes a new file of mode 0600 beside `path`, syncs it, and renames it there.
Result<void> write_private_file(const std::string& path, std::string_view content);
// Reads a file; nullopt when there is no such file.
Result<std::optional<std::string>> read_file(const std::string& path);
// Makes the directory (mode 0700) when missing; the one above must exist.
Result<void> make_private_directory(const std::string& path);

}  // namespace athanor::net
