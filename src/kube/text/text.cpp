// SPDX-License-Identifier: Apache-2.0
// Go's quoting.
#include "kube/text/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/utf8.hpp"

namespace athanor {
namespace {

struct Range {
  char32_t first = 0;
  char32_t last = 0;
};

// Code points that Go's unicode.IsPrint refuses: controls, blanks other than U+0020, format and
// private-use characters, noncharacters. Unassigned code points inside blocks count as printable
// here.
constexpr std::array<Range, 14> kUnprintable = {{{0x80, 0xa0},
                                                 {0xad, 0xad},
                                                 {0x600, 0x605},
                                                 {0x61c, 0x61c},
                                                 {0x1680, 0x1680},
                                                 {0x180e, 0x180e},
                                                 {0x2000, 0x200f},
                                                 {0x2028, 0x202f},
                                                 {0x205f, 0x206f},
                                                 {0x3000, 0x3000},
                                                 {0xd800, 0xf8ff},
                                                 {0xfeff, 0xfeff},
                                                 {0xfff0, 0xfffb},
                                                 {0xe0000, 0x10ffff}}};

bool is_printable(char32_t c) {
  return std::ranges::none_of(
      kUnprintable, [&](const Range& range) { return c >= range.first && c <= range.last; });
}

void append_ascii(std::string& out, char c) {
  constexpr std::string_view kSpecial = "\a\b\f\n\r\t\v\"\\";
  constexpr std::string_view kLetters = "abfnrtv\"\\";
  if (const std::size_t index = kSpecial.find(c); index != std::string_view::npos) {
    out += '\\';
    out += kLetters[index];
  } else if (c < 0x20 || c == 0x7f) {
    out += fmt::format("\\x{:02x}", static_cast<unsigned>(c));
  } else {
    out += c;
  }
}

}  // namespace

std::string go_quote(std::string_view text) {
  std::string out = "\"";
  while (!text.empty()) {
    const utf8::Decoded next = utf8::decode(text);
    const auto code = static_cast<std::uint32_t>(next.code_point);
    if (!next.valid) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned>(static_cast<unsigned char>(text[0])));
    } else if (code < 0x80) {
      append_ascii(out, text[0]);
    } else if (is_printable(next.code_point)) {
      out += text.substr(0, next.size);
    } else {
      out += code < 0x10000 ? fmt::format("\\u{:04x}", code) : fmt::format("\\U{:08x}", code);
    }
    text.remove_prefix(next.size);
  }
  return out + '"';
}

}  // namespace athanor
