// SPDX-License-Identifier: Apache-2.0
// From the text of an expression to its tokens.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cel/source.hpp"
#include "cel/val.hpp"

namespace athanor::cel {

enum class TokenKind : std::uint8_t {
  End,
  Identifier,
  EscapedIdentifier,  // `a-b`, after a dot
  Literal,            // number, text, bytes, true, false, null
  Punctuation,
};

struct Token {
  TokenKind kind = TokenKind::End;
  std::string text{};  // as written; of an escaped identifier what it escapes
  Val literal{};
  std::uint32_t position = 0;  // in code points
};

struct Tokens {
  std::vector<Token> tokens{};  // ends with End
  std::vector<Issue> issues{};
};

Tokens tokenize(std::string_view source);

}  // namespace athanor::cel
