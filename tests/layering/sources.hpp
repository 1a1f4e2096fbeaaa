// SPDX-License-Identifier: Apache-2.0
// The repository's C++ sources as text, for the rules of house_test.cpp.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace athanor::layering {

struct Include {
  std::string target{};  // as written between the brackets or quotes
  bool angled = false;
  std::size_t line = 0;
};

struct Source {
  std::string path{};  // relative to the repository's root
  std::string text{};  // as it lies on disk
  std::string code{};  // the text with comments and literals blanked, same length and lines
  std::size_t lines = 0;
  std::vector<Include> includes{};

  bool is_header() const;
};

// Every .cpp and .hpp below `folder` of the repository, by path.
std::vector<Source> read_sources(std::string_view folder);

// Comments, string and character literals become blanks; newlines stay.
std::string blank_comments_and_literals(std::string_view text);

// Whether `word` occurs in `code` with no identifier character on either side that the word itself
// does not end in; the line it is on, or 0.
std::size_t line_of_word(std::string_view code, std::string_view word);

}  // namespace athanor::layering
