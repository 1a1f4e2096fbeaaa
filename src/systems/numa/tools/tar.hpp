// SPDX-License-Identifier: Apache-2.0
// Tar archives of small text files, in the POSIX ustar form.
#pragma once

#include <map>
#include <string>

#include "base/result.hpp"
#include "base/time.hpp"

namespace athanor::numa {

// Returns an archive with these files, by path. An error: a path is longer than the form allows.
Result<std::string> make_tar(const std::map<std::string, std::string>& files, Instant modified);

}  // namespace athanor::numa
