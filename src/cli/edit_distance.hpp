// SPDX-License-Identifier: Apache-2.0
// How far two words are apart, for "did you mean".
#pragma once

#include <cstddef>
#include <string>

namespace athanor::cli {

// Returns the number of insertions, deletions and replacements of single bytes that lead from one
// word to the other.
std::size_t edit_distance(const std::string& a, const std::string& b);

}  // namespace athanor::cli
