// SPDX-License-Identifier: Apache-2.0
// The name that was probably meant.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace athanor {

// Returns the known name with the fewest edits from `word`, the first of several, else the first
// one that begins with it; empty when none is near: more than three edits, or more than one in
// three letters. A swap of neighbours is one edit.
std::string near_name(std::string_view word, std::span<const std::string> known);
// Returns ", did you mean NAME?", or nothing.
std::string near_hint(std::string_view word, std::span<const std::string> known);

}  // namespace athanor
