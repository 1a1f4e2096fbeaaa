// SPDX-License-Identifier: Apache-2.0
// base64 in its standard (padded) and URL (unpadded) forms, RFC 4648.
#include <array>
#include <cstdint>

#include "base/digest.hpp"

namespace athanor {
namespace {

constexpr std::string_view kStandard =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::string_view kUrl =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

std::string encode(std::string_view data, std::string_view alphabet) {
  std::string text;
  text.reserve((data.size() + 2) / 3 * 4);
  std::uint32_t bits = 0;
  unsigned count = 0;
  for (const char c : data) {
    bits = (bits << 8) | static_cast<unsigned char>(c);
    count += 8;
    while (count >= 6) {
      count -= 6;
      text += alphabet[(bits >> count) & 0x3f];
    }
  }
  if (count > 0) {
    text += alphabet[(bits << (6 - count)) & 0x3f];
  }
  return text;
}

constexpr std::int8_t kBad = -1;

constexpr std::array<std::int8_t, 256> inverse(std::string_view alphabet) {
  std::array<std::int8_t, 256> table{};
  table.fill(kBad);
  for (std::size_t i = 0; i < alphabet.size(); ++i) {
    table[static_cast<unsigned char>(alphabet[i])] = static_cast<std::int8_t>(i);
  }
  return table;
}

// The digits alone, without padding.
std::optional<std::string> decode_digits(std::string_view text,
                                         const std::array<std::int8_t, 256>& table) {
  if (text.size() % 4 == 1) {
    return std::nullopt;
  }
  std::string data;
  data.reserve(text.size() * 3 / 4);
  std::uint32_t bits = 0;
  unsigned count = 0;
  for (const char c : text) {
    const std::int8_t digit = table[static_cast<unsigned char>(c)];
    if (digit == kBad) {
      return std::nullopt;
    }
    bits = (bits << 6) | static_cast<std::uint32_t>(digit);
    count += 6;
    if (count >= 8) {
      count -= 8;
      data += static_cast<char>(static_cast<unsigned char>(bits >> count));
    }
  }
  return data;
}

}  // namespace

std::string base64_encode(std::string_view data) {
  std::string text = encode(data, kStandard);
  text.append((4 - text.size() % 4) % 4, '=');
  return text;
}

std::optional<std::string> base64_decode(std::string_view text) {
  static constexpr auto kTable = inverse(kStandard);
  std::string digits;
  digits.reserve(text.size());
  for (const char c : text) {
    if (c != '\n' && c != '\r') {
      digits += c;
    }
  }
  if (digits.size() % 4 != 0) {
    return std::nullopt;
  }
  for (int i = 0; i < 2 && digits.ends_with('='); ++i) {
    digits.pop_back();
  }
  return decode_digits(digits, kTable);
}

std::string base64url_encode(std::string_view data) {
  return encode(data, kUrl);
}

std::optional<std::string> base64url_decode(std::string_view text) {
  static constexpr auto kTable = inverse(kUrl);
  return decode_digits(text, kTable);
}

}  // namespace athanor
