// SPDX-License-Identifier: Apache-2.0
// Images that the secondary scheduler may have (docs/spec/numa.md 8.2).
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace athanor::numa {

// Returns true for "sha256:" with 64 hexadecimal digits.
bool is_digest(std::string_view text);
// Checks that the image is referenced by a digest of the trusted ones.
Result<void> check_scheduler_image(std::string_view image, std::span<const std::string> trusted);

}  // namespace athanor::numa
