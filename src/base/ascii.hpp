// SPDX-License-Identifier: Apache-2.0
// Texts whose letters are ASCII's, whatever the locale.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace athanor {

// Returns `text` with A to Z as a to z, every other byte as it is.
std::string lower(std::string_view text);
// Returns `text` without any of `blanks` at either end.
std::string_view trimmed(std::string_view text, std::string_view blanks = " \t\r\n");
// Returns the words between the separators; two adjacent separators enclose none.
std::vector<std::string_view> words_of(std::string_view text, char separator);

}  // namespace athanor
