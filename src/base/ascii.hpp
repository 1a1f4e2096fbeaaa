// SPDX-License-Identifier: Apache-2.0
// Texts whose letters are ASCII's, whatever the locale.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
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
// Refuses a temporary text: its words would outlive it.
template <std::same_as<std::string> Text>
std::vector<std::string_view> words_of(Text&& text, char separator) = delete;
// Returns the decimal number that is all of `text`; nullopt: it is none, or too large.
std::optional<std::int64_t> whole_number(std::string_view text);

}  // namespace athanor
