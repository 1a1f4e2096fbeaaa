// SPDX-License-Identifier: Apache-2.0
// Files of manifests that the command line names.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"

namespace athanor::cli {

// Reads a file, or standard input for "-".
Result<std::string> read_manifest(const std::string& file);
// Returns the manifests of a folder by name; of anything else itself. Errors: a folder without any.
Result<std::vector<std::string>> manifest_files(const std::string& path);

}  // namespace athanor::cli
