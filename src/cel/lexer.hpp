// SPDX-License-Identifier: Apache-2.0
// From the text of an expression to its tokens.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cel/values/source.hpp"
#include "cel/values/val.hpp"

namespace athanor::cel {

// Kinds of tokens.
enum class TokenKind : std::uint8_t {
  End,
  Identifier,
  EscapedIdentifier,  // `a-b`, after a dot
  Literal,            // number, text, bytes, true, false, null
  Punctuation,
};

// One token with its position.
struct Token {
  TokenKind kind = TokenKind::End;
  std::string text{};  // as written; of an escaped identifier what it escapes
  Val literal{};
  std::uint32_t position = 0;  // in code points
};

// Result of tokenize().
struct Tokens {
  std::vector<Token> tokens{};  // ends with End
  std::vector<Issue> issues{};
};

// Splits the text of an expression into tokens; faults become issues.
Tokens tokenize(std::string_view source);

}  // namespace athanor::cel
