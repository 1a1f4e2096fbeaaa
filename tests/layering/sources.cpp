// SPDX-License-Identifier: Apache-2.0
// Reading sources: just enough of C++'s lexical rules to tell code from comments and literals.
#include "layering/sources.hpp"
#include "support/source_dir/source_dir.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>

namespace athanor::layering {
namespace {

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

void blank(std::string& text, std::size_t from, std::size_t to) {
  for (std::size_t i = from; i < std::min(to, text.size()); ++i) {
    if (text[i] != '\n') {
      text[i] = ' ';
    }
  }
}

// One past the closing quote of the literal that opens at `open`.
std::size_t literal_end(std::string_view text, std::size_t open) {
  const char quote = text[open];
  std::size_t i = open + 1;
  while (i < text.size() && text[i] != quote && text[i] != '\n') {
    i += text[i] == '\\' ? 2 : 1;
  }
  return i + 1;
}

std::size_t raw_literal_end(std::string_view text, std::size_t open) {
  const std::size_t bracket = text.find('(', open);
  if (bracket == std::string_view::npos) {
    return text.size();
  }
  const std::string close = ")" + std::string(text.substr(open + 1, bracket - open - 1)) + "\"";
  const std::size_t end = text.find(close, bracket);
  return end == std::string_view::npos ? text.size() : end + close.size();
}

// The end of the comment or literal that begins at `i`, or nothing when code does.
std::optional<std::size_t> skipped(std::string_view text, std::size_t i) {
  const std::string_view rest = text.substr(i);
  if (rest.starts_with("//")) {
    return std::min(text.find('\n', i), text.size());
  }
  if (rest.starts_with("/*")) {
    const std::size_t end = text.find("*/", i + 2);
    return end == std::string_view::npos ? text.size() : end + 2;
  }
  if (text[i] == '"') {
    const bool raw = i > 0 && text[i - 1] == 'R' && (i < 2 || !is_word(text[i - 2]));
    return raw ? raw_literal_end(text, i) : literal_end(text, i);
  }
  // An apostrophe after a digit separates digits.
  if (text[i] == '\'' && (i == 0 || !is_word(text[i - 1]))) {
    return literal_end(text, i);
  }
  return std::nullopt;
}

std::vector<Include> includes_of(std::string_view text) {
  std::vector<Include> includes;
  std::size_t line = 1;
  for (std::size_t start = 0; start < text.size(); ++line) {
    const std::size_t end = std::min(text.find('\n', start), text.size());
    std::string_view row = text.substr(start, end - start);
    start = end + 1;
    constexpr std::string_view kDirective = "#include ";
    if (!row.starts_with(kDirective) || row.size() < kDirective.size() + 2) {
      continue;
    }
    row.remove_prefix(kDirective.size());
    const char close = row.front() == '<' ? '>' : '"';
    const std::size_t length = row.find(close, 1);
    if (length != std::string_view::npos) {
      includes.push_back({std::string(row.substr(1, length - 1)), close == '>', line});
    }
  }
  return includes;
}

}  // namespace

bool Source::is_header() const {
  return path.ends_with(".hpp");
}

std::string blank_comments_and_literals(std::string_view text) {
  std::string code(text);
  for (std::size_t i = 0; i < text.size();) {
    const auto end = skipped(text, i);
    if (end) {
      blank(code, i, *end);
    }
    i = end ? std::max(*end, i + 1) : i + 1;
  }
  return code;
}

std::size_t line_of_word(std::string_view code, std::string_view word) {
  for (std::size_t at = code.find(word); at != std::string_view::npos;
       at = code.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    const bool begins = !is_word(word.front()) || at == 0 || !is_word(code[at - 1]);
    const bool ends = !is_word(word.back()) || end == code.size() || !is_word(code[end]);
    if (begins && ends) {
      return 1 + static_cast<std::size_t>(std::count(
                     code.begin(), code.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
    }
  }
  return 0;
}

std::vector<Source> read_sources(std::string_view folder) {
  namespace fs = std::filesystem;
  const fs::path root = athanor::test::source_dir();
  std::vector<Source> sources;
  if (!fs::is_directory(root / folder)) {
    return sources;
  }
  for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
    const std::string extension = entry.path().extension().string();
    if (!entry.is_regular_file() || (extension != ".cpp" && extension != ".hpp")) {
      continue;
    }
    std::ifstream stream(entry.path(), std::ios::binary);
    Source source;
    source.path = fs::relative(entry.path(), root).generic_string();
    source.text.assign(std::istreambuf_iterator<char>(stream), {});
    source.code = blank_comments_and_literals(source.text);
    source.lines =
        static_cast<std::size_t>(std::count(source.text.begin(), source.text.end(), '\n'));
    source.includes = includes_of(source.text);
    sources.push_back(std::move(source));
  }
  std::sort(sources.begin(), sources.end(),
            [](const Source& a, const Source& b) { return a.path < b.path; });
  return sources;
}

}  // namespace athanor::layering
