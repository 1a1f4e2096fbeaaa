// SPDX-License-Identifier: Apache-2.0
// MD5 (RFC 1321), SHA-1 and SHA-256 (FIPS 180-4).
#include "base/digest.hpp"

#include <fmt/core.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>

namespace athanor {
namespace {

constexpr std::size_t kBlockSize = 64;
using Block = std::array<unsigned char, kBlockSize>;
enum class LengthOrder : std::uint8_t { BigEndian, LittleEndian };

// Feeds every padded block of `data` to `absorb`: all three hashes pad alike, but for the length's
// order.
template <class Absorb>
void for_each_block(std::string_view data, LengthOrder order, Absorb absorb) {
  Block block{};
  std::size_t offset = 0;
  for (; offset + kBlockSize <= data.size(); offset += kBlockSize) {
    for (std::size_t i = 0; i < kBlockSize; ++i) {
      block[i] = static_cast<unsigned char>(data[offset + i]);
    }
    absorb(block);
  }
  const std::size_t tail = data.size() - offset;
  block.fill(0);
  for (std::size_t i = 0; i < tail; ++i) {
    block[i] = static_cast<unsigned char>(data[offset + i]);
  }
  block[tail] = 0x80;
  if (tail >= kBlockSize - 8) {
    absorb(block);
    block.fill(0);
  }
  const std::uint64_t bits = static_cast<std::uint64_t>(data.size()) * 8;
  for (std::size_t i = 0; i < 8; ++i) {
    const std::size_t shift = order == LengthOrder::BigEndian ? 56 - 8 * i : 8 * i;
    block[kBlockSize - 8 + i] = static_cast<unsigned char>(bits >> shift);
  }
  absorb(block);
}

std::uint32_t big_endian_word(const Block& block, std::size_t word) {
  std::uint32_t result = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    result = (result << 8) | block[4 * word + i];
  }
  return result;
}

std::uint32_t little_endian(const Block& block, std::size_t word) {
  std::uint32_t result = 0;
  for (std::size_t i = 4; i-- > 0;) {
    result = (result << 8) | block[4 * word + i];
  }
  return result;
}

std::string hex(std::string_view bytes) {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string text;
  text.reserve(bytes.size() * 2);
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    text += kHex[byte >> 4];
    text += kHex[byte & 0xf];
  }
  return text;
}

template <std::size_t N>
std::string raw(const std::array<std::uint32_t, N>& state, LengthOrder order) {
  std::string bytes;
  for (const std::uint32_t word : state) {
    for (std::size_t i = 0; i < 4; ++i) {
      const std::size_t shift = order == LengthOrder::BigEndian ? 24 - 8 * i : 8 * i;
      bytes += static_cast<char>(static_cast<unsigned char>(word >> shift));
    }
  }
  return bytes;
}

using Md5State = std::array<std::uint32_t, 4>;

void md5_block(Md5State& state, const Block& block) {
  constexpr std::array<std::array<int, 4>, 4> kShifts = {
      {{7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}}};
  static const auto kSines = [] {
    std::array<std::uint32_t, 64> table{};
    for (std::size_t i = 0; i < table.size(); ++i) {
      const double sine = std::fabs(std::sin(static_cast<double>(i + 1)));
      table[i] = static_cast<std::uint32_t>(std::floor(sine * 4294967296.0));
    }
    return table;
  }();
  auto [a, b, c, d] = state;
  for (std::size_t i = 0; i < 64; ++i) {
    std::uint32_t mix = 0;
    std::size_t word = 0;
    switch (i / 16) {
      case 0:
        mix = (b & c) | (~b & d);
        word = i;
        break;
      case 1:
        mix = (d & b) | (~d & c);
        word = (5 * i + 1) % 16;
        break;
      case 2:
        mix = b ^ c ^ d;
        word = (3 * i + 5) % 16;
        break;
      default:
        mix = c ^ (b | ~d);
        word = (7 * i) % 16;
        break;
    }
    const std::uint32_t sum = a + mix + kSines[i] + little_endian(block, word);
    a = d;
    d = c;
    c = b;
    b += std::rotl(sum, kShifts[i / 16][i % 4]);
  }
  state[0] += a;
  state[1] += b;
  state[2] += c;
  state[3] += d;
}

using Sha1State = std::array<std::uint32_t, 5>;

void sha1_block(Sha1State& state, const Block& block) {
  std::array<std::uint32_t, 80> schedule{};
  for (std::size_t i = 0; i < 16; ++i) {
    schedule[i] = big_endian_word(block, i);
  }
  for (std::size_t i = 16; i < 80; ++i) {
    schedule[i] =
        std::rotl(schedule[i - 3] ^ schedule[i - 8] ^ schedule[i - 14] ^ schedule[i - 16], 1);
  }
  auto [a, b, c, d, e] = state;
  for (std::size_t i = 0; i < 80; ++i) {
    std::uint32_t mix = 0;
    std::uint32_t constant = 0;
    if (i < 20) {
      mix = (b & c) | (~b & d);
      constant = 0x5a827999;
    } else if (i < 40) {
      mix = b ^ c ^ d;
      constant = 0x6ed9eba1;
    } else if (i < 60) {
      mix = (b & c) | (b & d) | (c & d);
      constant = 0x8f1bbcdc;
    } else {
      mix = b ^ c ^ d;
      constant = 0xca62c1d6;
    }
    const std::uint32_t sum = std::rotl(a, 5) + mix + e + constant + schedule[i];
    e = d;
    d = c;
    c = std::rotl(b, 30);
    b = a;
    a = sum;
  }
  state[0] += a;
  state[1] += b;
  state[2] += c;
  state[3] += d;
  state[4] += e;
}

constexpr std::array<std::uint32_t, 64> kSha256 = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

using Sha256State = std::array<std::uint32_t, 8>;

void sha256_block(Sha256State& state, const Block& block) {
  std::array<std::uint32_t, 64> schedule{};
  for (std::size_t i = 0; i < 16; ++i) {
    schedule[i] = big_endian_word(block, i);
  }
  for (std::size_t i = 16; i < 64; ++i) {
    const std::uint32_t w15 = schedule[i - 15];
    const std::uint32_t w2 = schedule[i - 2];
    const std::uint32_t s0 = std::rotr(w15, 7) ^ std::rotr(w15, 18) ^ (w15 >> 3);
    const std::uint32_t s1 = std::rotr(w2, 17) ^ std::rotr(w2, 19) ^ (w2 >> 10);
    schedule[i] = schedule[i - 16] + s0 + schedule[i - 7] + s1;
  }
  auto [a, b, c, d, e, f, g, h] = state;
  for (std::size_t i = 0; i < 64; ++i) {
    const std::uint32_t s1 = std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25);
    const std::uint32_t choice = (e & f) ^ (~e & g);
    const std::uint32_t t1 = h + s1 + choice + kSha256[i] + schedule[i];
    const std::uint32_t s0 = std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22);
    const std::uint32_t majority = (a & b) ^ (a & c) ^ (b & c);
    h = g;
    g = f;
    f = e;
    e = d + t1;
    d = c;
    c = b;
    b = a;
    a = t1 + s0 + majority;
  }
  const Sha256State change = {a, b, c, d, e, f, g, h};
  for (std::size_t i = 0; i < state.size(); ++i) {
    state[i] += change[i];
  }
}

}  // namespace

std::string md5_hex(std::string_view data) {
  Md5State state = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476};
  for_each_block(data, LengthOrder::LittleEndian,
                 [&](const Block& block) { md5_block(state, block); });
  return hex(raw(state, LengthOrder::LittleEndian));
}

std::string fingerprint_hex(std::string_view data) {
  return fmt::format("{:016x}", std::hash<std::string_view>()(data));
}

std::string sha1_hex(std::string_view data) {
  Sha1State state = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};
  for_each_block(data, LengthOrder::BigEndian,
                 [&](const Block& block) { sha1_block(state, block); });
  return hex(raw(state, LengthOrder::BigEndian));
}

std::string sha256(std::string_view data) {
  Sha256State state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                       0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  for_each_block(data, LengthOrder::BigEndian,
                 [&](const Block& block) { sha256_block(state, block); });
  return raw(state, LengthOrder::BigEndian);
}

std::string sha256_hex(std::string_view data) {
  return hex(sha256(data));
}

}  // namespace athanor
