// SPDX-License-Identifier: Apache-2.0
// Hashes of short texts (names, namespaces), for tables that are looked up and never walked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace athanor {

// Hashes eight bytes at a time, in line: names are a few words long, and a call into the standard
// library for each look at a table was 2 % of a simulation. Valid in one process only.
inline std::size_t hash_text(std::string_view text) noexcept {
  const auto word = [](const char* from, std::size_t bytes) {
    std::uint64_t out = 0;
    std::memcpy(&out, from, bytes);
    return out;
  };
  // Multiplication spreads upwards, the shifts bring it down again.
  const auto mix = [](std::uint64_t value) {
    value = (value ^ (value >> 32U)) * 0x9e3779b97f4a7c15ULL;
    return value ^ (value >> 29U);
  };
  const char* at = text.data();
  std::size_t left = text.size();
  std::uint64_t hash = mix(left + 1);
  for (; left >= 8; at += 8, left -= 8) {
    hash = mix(hash ^ word(at, 8));
  }
  if (left >= 4) {
    hash = mix(hash ^ (word(at, 4) << 32U | word(at + left - 4, 4)));
  } else if (left > 0) {
    hash = mix(hash ^ (word(at, 1) << 16U | word(at + left / 2, 1) << 8U | word(at + left - 1, 1)));
  }
  return mix(hash);
}

}  // namespace athanor
