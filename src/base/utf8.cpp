// SPDX-License-Identifier: Apache-2.0
// Decoding and encoding of UTF-8.
#include "base/utf8.hpp"

namespace athanor::utf8 {
namespace {

// What the first byte of a sequence says.
struct Lead {
  std::size_t size = 0;  // 0: not a first byte
  char32_t bits = 0;
  char32_t minimum = 0;
};

Lead read_lead(unsigned char byte) {
  if (byte >= 0xc2 && byte < 0xe0) {
    return {.size = 2, .bits = byte & 0x1fU, .minimum = 0x80};
  }
  if (byte >= 0xe0 && byte < 0xf0) {
    return {.size = 3, .bits = byte & 0x0fU, .minimum = 0x800};
  }
  if (byte >= 0xf0 && byte < 0xf5) {
    return {.size = 4, .bits = byte & 0x07U, .minimum = 0x10000};
  }
  return {};
}

bool is_scalar(char32_t code_point) {
  return code_point <= 0x10ffff && (code_point < 0xd800 || code_point > 0xdfff);
}

}  // namespace

Decoded decode(std::string_view text) {
  if (text.empty()) {
    return {};
  }
  const auto first = static_cast<unsigned char>(text[0]);
  if (first < 0x80) {
    return {.code_point = first, .size = 1, .valid = true};
  }
  constexpr Decoded kInvalid = {.code_point = kReplacement, .size = 1, .valid = false};
  const Lead lead = read_lead(first);
  if (lead.size == 0 || text.size() < lead.size) {
    return kInvalid;
  }
  char32_t code_point = lead.bits;
  for (std::size_t i = 1; i < lead.size; ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if ((byte & 0xc0U) != 0x80U) {
      return kInvalid;
    }
    code_point = (code_point << 6) | (byte & 0x3fU);
  }
  if (code_point < lead.minimum || !is_scalar(code_point)) {
    return kInvalid;
  }
  return {.code_point = code_point, .size = lead.size, .valid = true};
}

void append(std::string& out, char32_t code_point) {
  const char32_t c = is_scalar(code_point) ? code_point : kReplacement;
  const auto tail = [&](int shift) { return static_cast<char>(0x80U | ((c >> shift) & 0x3fU)); };
  if (c < 0x80) {
    out += static_cast<char>(c);
  } else if (c < 0x800) {
    out += static_cast<char>(0xc0U | (c >> 6));
    out += tail(0);
  } else if (c < 0x10000) {
    out += static_cast<char>(0xe0U | (c >> 12));
    out += tail(6);
    out += tail(0);
  } else {
    out += static_cast<char>(0xf0U | (c >> 18));
    out += tail(12);
    out += tail(6);
    out += tail(0);
  }
}

std::string repaired(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const Decoded next = decode(text);
    append(out, next.code_point);
    text.remove_prefix(next.size);
  }
  return out;
}

bool is_valid(std::string_view text) {
  while (!text.empty()) {
    const Decoded next = decode(text);
    if (!next.valid) {
      return false;
    }
    text.remove_prefix(next.size);
  }
  return true;
}

std::size_t length(std::string_view text) {
  std::size_t count = 0;
  while (!text.empty()) {
    text.remove_prefix(decode(text).size);
    ++count;
  }
  return count;
}

}  // namespace athanor::utf8
