// SPDX-License-Identifier: Apache-2.0
// UTF-8, one code point at a time, with Go's rule: every byte of an invalid sequence is one U+FFFD.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace athanor::utf8 {

constexpr char32_t kReplacement = 0xfffd;

struct Decoded {
  char32_t code_point = kReplacement;
  std::size_t size = 0;  // bytes read; 0 only for an empty text
  bool valid = false;
};

// Decodes the first code point. Surrogates, overlong forms, values above U+10FFFF are invalid.
Decoded decode(std::string_view text);
// Appends one code point; an invalid one is appended as U+FFFD.
void append(std::string& out, char32_t code_point);
bool is_valid(std::string_view text);
// Returns `text` with U+FFFD in the place of every invalid byte.
std::string repaired(std::string_view text);
// Returns the number of code points (what Kubernetes calls characters).
std::size_t length(std::string_view text);

}  // namespace athanor::utf8
