// SPDX-License-Identifier: Apache-2.0
// Texts whose letters are ASCII's, whatever the locale.
#pragma once

#include <string>
#include <string_view>

namespace athanor {

// A to Z as a to z, every other byte as it is.
std::string lower(std::string_view text);
// Without what of `blanks` stands at either end.
std::string_view trimmed(std::string_view text, std::string_view blanks = " \t\r\n");

}  // namespace athanor
