// SPDX-License-Identifier: Apache-2.0
// Reads a file as a whole: the only place that does so.
#pragma once

#include <string>

#include "base/result.hpp"

namespace athanor {

// Returns the bytes of a file of at most 128 MiB: configuration, keys, traces. Errors: 404 where
// there is none, 400 for a folder, a larger file or one that may not be read; the message names the
// file and the cause.
Result<std::string> read_text_file(const std::string& path);
// Returns the bytes of a file of any size; errors as above.
Result<std::string> read_whole_file(const std::string& path);

}  // namespace athanor
