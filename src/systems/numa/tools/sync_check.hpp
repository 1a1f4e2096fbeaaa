// SPDX-License-Identifier: Apache-2.0
// Status files of both sides of a fingerprint beside one another (docs/spec/numa.md 10.4, 13.2).
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"

namespace athanor::numa {

// Returns the comparison as text, one block for each fingerprint that the scheduler expected and
// did not compute. Both files are lists of samples, or one sample as the oldest wrote. An error
// says why nothing can be compared.
Result<std::string> compare_status(std::string_view exporter, std::string_view scheduler);

}  // namespace athanor::numa
