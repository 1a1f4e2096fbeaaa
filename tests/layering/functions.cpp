// SPDX-License-Identifier: Apache-2.0
#include "layering/functions.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>

namespace athanor::layering {
namespace {

// Words before a parenthesis, or before the name of a call, that are no types.
constexpr std::array<std::string_view, 18> kNoTypes = {
    "return", "throw", "new",    "else",   "case",     "delete",   "if",    "for",       "while",
    "switch", "catch", "sizeof", "typeof", "decltype", "operator", "using", "co_return", "goto"};

bool is_name_char(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

bool is_space(char c) {
  return std::isspace(static_cast<unsigned char>(c)) != 0;
}

bool is_no_type(std::string_view word) {
  return std::find(kNoTypes.begin(), kNoTypes.end(), word) != kNoTypes.end();
}

bool is_macro(std::string_view name) {
  return std::none_of(name.begin(), name.end(),
                      [](unsigned char c) { return std::islower(c) != 0; });
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && is_space(text.front())) {
    text.remove_prefix(1);
  }
  while (!text.empty() && is_space(text.back())) {
    text.remove_suffix(1);
  }
  return text;
}

// Returns the name that ends before `end`, with its qualifiers.
std::string_view name_before(std::string_view code, std::size_t end) {
  std::size_t begin = end;
  while (begin > 0 && (is_name_char(code[begin - 1]) ||
                       (code[begin - 1] == ':' && begin > 1 &&
                        (code[begin - 2] == ':' || (begin < end && code[begin] == ':'))))) {
    --begin;
  }
  return code.substr(begin, end - begin);
}

// Returns the place behind the bracket that closes the one at `at`; npos where none does.
std::size_t behind_closing(std::string_view code, std::size_t at) {
  std::size_t depth = 0;
  for (std::size_t i = at; i < code.size(); ++i) {
    const char c = code[i];
    if (c == '(' || c == '{' || c == '[') {
      ++depth;
    } else if (c == ')' || c == '}' || c == ']') {
      if (--depth == 0) {
        return i + 1;
      }
    }
  }
  return std::string_view::npos;
}

std::vector<std::string_view> split_parameters(std::string_view list) {
  std::vector<std::string_view> parts;
  std::size_t begin = 0;
  int depth = 0;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const char c = list[i];
    if (c == '(' || c == '{' || c == '[' || c == '<') {
      ++depth;
    } else if (c == ')' || c == '}' || c == ']' || (c == '>' && i > 0 && list[i - 1] != '-')) {
      --depth;
    } else if (c == ',' && depth == 0) {
      parts.push_back(trim(list.substr(begin, i - begin)));
      begin = i + 1;
    }
  }
  if (const std::string_view last = trim(list.substr(begin)); !last.empty()) {
    parts.push_back(last);
  }
  return parts;
}

// Tells a parameter from an argument of a call: a type, then a name or nothing.
bool is_parameter(std::string_view part) {
  const std::string_view declared = trim(part.substr(0, part.find('=')));
  if (declared.empty() || declared.find_first_of("+?!\"'.|") != std::string_view::npos) {
    return false;
  }
  const auto last = std::find_if_not(declared.rbegin(), declared.rend(), is_name_char);
  if (last == declared.rbegin() || last == declared.rend()) {
    return true;  // `const Key&` or `int`
  }
  return is_space(*last) || *last == '&' || *last == '*';
}

// Returns where the function's body or the end of its declaration is; nothing where `at`, behind
// the list of parameters, is not followed by either.
std::optional<std::size_t> end_of_head(std::string_view code, std::size_t at) {
  while (at < code.size()) {
    const char c = code[at];
    if (c == ';' || c == '{') {
      return at;
    }
    if (c == '(') {  // ATHANOR_GUARDED_BY(mutex)
      at = behind_closing(code, at);
      continue;
    }
    if (is_space(c) || is_name_char(c) || c == '&' || c == '=' || c == ':' || c == '<' ||
        c == '>' || c == '*' || c == '-') {
      ++at;
      continue;
    }
    return std::nullopt;
  }
  return std::nullopt;
}

// Tells whether a type stands before the name that begins at `at`.
bool follows_type(std::string_view code, std::size_t at) {
  const std::string_view before =
      trim(code.substr(at < 120 ? 0 : at - 120, std::min(at, std::size_t{120})));
  if (before.empty()) {
    return false;
  }
  const char last = before.back();
  if (last == '&' || last == '*' || last == '>') {
    return !before.ends_with("->") && !before.ends_with("&&");
  }
  const std::string_view word = name_before(before, before.size());
  return !word.empty() && !is_no_type(word);
}

}  // namespace

std::vector<Function> functions_of(std::string_view code) {
  std::vector<Function> found;
  std::size_t line = 1;
  std::size_t counted = 0;
  for (std::size_t at = code.find('('); at != std::string_view::npos; at = code.find('(', at + 1)) {
    const std::string_view name = name_before(code, at);
    const std::size_t close = behind_closing(code, at);
    if (name.empty() || is_macro(name) || is_no_type(name) || close == std::string_view::npos) {
      continue;
    }
    const std::size_t begin = at - name.size();
    const auto end = end_of_head(code, close);
    const auto parameters = split_parameters(code.substr(at + 1, close - at - 2));
    if (!end || !follows_type(code, begin) ||
        !std::all_of(parameters.begin(), parameters.end(), is_parameter)) {
      continue;
    }
    const auto newlines = [&](std::size_t from, std::size_t to) {
      return static_cast<std::size_t>(std::count(code.begin() + static_cast<std::ptrdiff_t>(from),
                                                 code.begin() + static_cast<std::ptrdiff_t>(to),
                                                 '\n'));
    };
    line += newlines(counted, begin);
    counted = begin;
    Function function{.name = std::string(name), .line = line, .parameters = parameters};
    if (code[*end] == '{') {
      if (const std::size_t over = behind_closing(code, *end); over != std::string_view::npos) {
        function.body_lines = newlines(*end, over);
      }
    }
    found.push_back(std::move(function));
  }
  return found;
}

}  // namespace athanor::layering
