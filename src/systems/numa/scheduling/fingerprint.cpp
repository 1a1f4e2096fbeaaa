// SPDX-License-Identifier: Apache-2.0
// xxHash (64 bits) and what is built on it.
#include "systems/numa/scheduling/fingerprint.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <vector>

namespace athanor::numa {
namespace {

constexpr std::uint64_t kPrime1 = 0x9E3779B185EBCA87ULL;
constexpr std::uint64_t kPrime2 = 0xC2B2AE3D27D4EB4FULL;
constexpr std::uint64_t kPrime3 = 0x165667B19E3779F9ULL;
constexpr std::uint64_t kPrime4 = 0x85EBCA77C2B2AE63ULL;
constexpr std::uint64_t kPrime5 = 0x27D4EB2F165667C5ULL;

constexpr std::string_view kPrefix = "pfp0";
constexpr std::string_view kVersion = "v001";
constexpr std::size_t kLeastLength = 16;

static_assert(std::endian::native == std::endian::little, "words are read as they lie in memory");

std::uint64_t word64(const char* from) {
  std::uint64_t out = 0;
  std::memcpy(&out, from, sizeof(out));
  return out;
}
std::uint64_t word32(const char* from) {
  std::uint32_t out = 0;
  std::memcpy(&out, from, sizeof(out));
  return out;
}

std::uint64_t round_of(std::uint64_t lane, std::uint64_t word) {
  return std::rotl(lane + word * kPrime2, 31) * kPrime1;
}

std::uint64_t merged(std::uint64_t hash, std::uint64_t lane) {
  return (hash ^ round_of(0, lane)) * kPrime1 + kPrime4;
}

// Consumes blocks of 32 bytes in four lanes.
std::uint64_t hash_blocks(const char*& at, const char* end, std::uint64_t seed) {
  std::uint64_t lanes[] = {seed + kPrime1 + kPrime2, seed + kPrime2, seed, seed - kPrime1};
  for (; end - at >= 32; at += 32) {
    for (std::size_t i = 0; i < 4; ++i) {
      lanes[i] = round_of(lanes[i], word64(at + 8 * i));
    }
  }
  std::uint64_t hash = std::rotl(lanes[0], 1) + std::rotl(lanes[1], 7) + std::rotl(lanes[2], 12) +
                       std::rotl(lanes[3], 18);
  for (const std::uint64_t lane : lanes) {
    hash = merged(hash, lane);
  }
  return hash;
}

}  // namespace

std::uint64_t xxh64(std::string_view data, std::uint64_t seed) {
  const char* at = data.data();
  const char* const end = at + data.size();
  std::uint64_t hash = data.size() >= 32 ? hash_blocks(at, end, seed) : seed + kPrime5;
  hash += data.size();
  for (; end - at >= 8; at += 8) {
    hash = std::rotl(hash ^ round_of(0, word64(at)), 27) * kPrime1 + kPrime4;
  }
  if (end - at >= 4) {
    hash = std::rotl(hash ^ (word32(at) * kPrime1), 23) * kPrime2 + kPrime3;
    at += 4;
  }
  for (; at != end; ++at) {
    hash = std::rotl(hash ^ (static_cast<unsigned char>(*at) * kPrime5), 11) * kPrime1;
  }
  hash = (hash ^ (hash >> 33U)) * kPrime2;
  hash = (hash ^ (hash >> 29U)) * kPrime3;
  return hash ^ (hash >> 32U);
}

std::uint64_t share_of(const Key& pod) {
  return xxh64(pod.name, xxh64(pod.ns, 0));
}

std::string fingerprint_of_shares(std::span<const std::uint64_t> ascending) {
  const std::string_view bytes(reinterpret_cast<const char*>(ascending.data()),
                               ascending.size() * sizeof(std::uint64_t));
  return fmt::format("{}{}{:016x}", kPrefix, kVersion, xxh64(bytes, 0));
}

std::string fingerprint_of(std::span<const Key> pods) {
  std::vector<std::uint64_t> shares;
  shares.reserve(pods.size());
  for (const Key& pod : pods) {
    shares.push_back(share_of(pod));
  }
  std::ranges::sort(shares);
  return fingerprint_of_shares(shares);
}

Result<void> check_fingerprint(std::string_view computed, std::string_view expected) {
  if (expected.size() < kLeastLength || !expected.starts_with(kPrefix)) {
    return Error::bad_request("malformed fingerprint");
  }
  expected.remove_prefix(kPrefix.size());
  if (!expected.starts_with(kVersion)) {
    return Error::bad_request("incompatible version");
  }
  expected.remove_prefix(kVersion.size());
  const std::string_view digits =
      computed.substr(std::min(computed.size(), kPrefix.size() + kVersion.size()));
  if (digits != expected) {
    return Error::conflict(
        fmt::format("fingerprint mismatch got=\"{}\" expected=\"{}\"", digits, expected));
  }
  return {};
}

}  // namespace athanor::numa
