// SPDX-License-Identifier: Apache-2.0
#include "cel/names.hpp"

#include <algorithm>
#include <array>

namespace athanor::cel {
namespace {

// Properties of these names are spelt __NAME__.
constexpr std::array<std::string_view, 21> kEscapedWords = {
    "true",     "false",   "null",      "in",       "as",  "break",  "const",
    "continue", "else",    "for",       "function", "if",  "import", "let",
    "loop",     "package", "namespace", "return",   "var", "void",   "while"};

// What the grammar itself refuses as an identifier.
constexpr std::array<std::string_view, 17> kReservedWords = {
    "as",  "break", "const",   "continue",  "else",   "for", "function", "if",   "import",
    "let", "loop",  "package", "namespace", "return", "var", "void",     "while"};

bool is_escaped_word(std::string_view name) {
  return std::ranges::find(kEscapedWords, name) != kEscapedWords.end();
}

std::string escaped_word(std::string_view name) {
  return "__" + std::string(name) + "__";
}

bool is_name_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

bool is_name_digit(char c) {
  return c >= '0' && c <= '9';
}

}  // namespace

bool is_reserved_word(std::string_view word) {
  return std::ranges::find(kReservedWords, word) != kReservedWords.end();
}

const TypeField* find_field(const Type& type, std::string_view name) {
  auto found = type.fields.find(name);
  if (found == type.fields.end() && is_escaped_word(name)) {
    found = type.fields.find(escaped_word(name));
  }
  return found == type.fields.end() ? nullptr : &found->second;
}

std::optional<std::string> escape_name(std::string_view name) {
  if (name.empty() || is_name_digit(name.front())) {
    return std::nullopt;
  }
  if (is_escaped_word(name)) {
    return escaped_word(name);
  }
  std::string escaped;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const char c = name[i];
    if (c == '_' && i + 1 < name.size() && name[i + 1] == '_') {
      escaped += "__underscores__";
      ++i;
    } else if (is_name_letter(c) || is_name_digit(c)) {
      escaped += c;
    } else if (c == '.') {
      escaped += "__dot__";
    } else if (c == '-') {
      escaped += "__dash__";
    } else if (c == '/') {
      escaped += "__slash__";
    } else {
      return std::nullopt;
    }
  }
  return escaped;
}

}  // namespace athanor::cel
