// SPDX-License-Identifier: Apache-2.0
// The size of a folder on the disk, as `du` counts it.
#pragma once

#include <cstdint>
#include <string>

namespace athanor::nodes {

// Returns the bytes that the files below a folder occupy, without following links or leaving its
// file system; what cannot be read counts nothing. Costs O(entries).
std::int64_t folder_size(const std::string& path);

}  // namespace athanor::nodes
