// SPDX-License-Identifier: Apache-2.0
#include "cel/values/source.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/utf8.hpp"

namespace athanor::cel {
namespace {

// As many faults as one answer shows.
constexpr std::size_t kMostIssues = 100;

struct Line {
  std::u32string text{};
  std::size_t start = 0;  // position of its first character
};

std::vector<Line> lines_of(std::string_view source) {
  std::vector<Line> lines(1);
  std::size_t position = 0;
  while (!source.empty()) {
    const utf8::Decoded next = utf8::decode(source);
    source.remove_prefix(next.size);
    ++position;
    if (next.code_point == U'\n') {
      lines.push_back({.text = {}, .start = position});
    } else {
      lines.back().text += next.code_point;
    }
  }
  return lines;
}

}  // namespace

std::string issues_text(std::string_view source, std::vector<Issue> issues) {
  const std::vector<Line> lines = lines_of(source);
  std::ranges::stable_sort(issues, {}, &Issue::position);
  std::string text;
  for (std::size_t i = 0; i < std::min(issues.size(), kMostIssues); ++i) {
    const Issue& issue = issues[i];
    std::size_t number = 0;
    while (number + 1 < lines.size() && lines[number + 1].start <= issue.position) {
      ++number;
    }
    const Line& line = lines[number];
    const std::size_t column = issue.position - line.start;
    const bool nothing = line.text.empty() && lines.size() == 1;
    text += fmt::format("{}ERROR: <input>:{}:{}: {}", i == 0 ? "" : "\n", number + 1,
                        nothing ? 0 : column + 1, issue.message);
    if (nothing) {
      continue;  // there is no line to show
    }
    text += "\n | ";
    std::string marker;
    for (std::size_t j = 0; j < line.text.size(); ++j) {
      utf8::append(text, line.text[j] == U'\t' ? U' ' : line.text[j]);
      if (j < column) {
        // wide characters have wide dots
        utf8::append(marker, line.text[j] < 0x80 ? U'.' : U'\uff0e');
      }
    }
    marker.append(column > line.text.size() ? column - line.text.size() : 0, '.');
    const bool wide = column < line.text.size() && line.text[column] >= 0x80;
    text += fmt::format("\n | {}{}", marker, wide ? "\xef\xbc\xbe" : "^");
  }
  return text;
}

}  // namespace athanor::cel
