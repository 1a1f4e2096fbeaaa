// SPDX-License-Identifier: Apache-2.0
// The wall clock, the system's random bits, and a seeded sequence.
#include "base/clock.hpp"

#include <sys/random.h>

#include <atomic>

#include "base/check.hpp"

namespace athanor {
namespace {

class WallClock final : public Clock {
 public:
  [[nodiscard]] Instant now() const override {
    return std::chrono::floor<Duration>(std::chrono::system_clock::now());
  }
};

class SystemEntropy final : public Entropy {
 public:
  std::uint64_t next() override {
    std::uint64_t bits = 0;
    const auto count = ::getrandom(&bits, sizeof(bits), 0);
    ATHANOR_CHECK(count == sizeof(bits), "getrandom never fails for up to 256 bytes");
    return bits;
  }
};

// splitmix64: each draw depends on its ordinal alone, so an atomic counter makes it thread-safe.
class SeededEntropy final : public Entropy {
 public:
  explicit SeededEntropy(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() override {
    constexpr std::uint64_t kStep = 0x9e3779b97f4a7c15ULL;
    std::uint64_t bits = state_.fetch_add(kStep) + kStep;
    bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9ULL;
    bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebULL;
    return bits ^ (bits >> 31);
  }

 private:
  std::atomic<std::uint64_t> state_;
};

// Sets version 4 and variant 1 in random or ordered bits.
std::string uuid_of(std::uint64_t high, std::uint64_t low) {
  constexpr std::string_view kHex = "0123456789abcdef";
  high = (high & ~0xf000ULL) | 0x4000ULL;
  low = (low & 0x3fffffffffffffffULL) | 0x8000000000000000ULL;
  std::string text;
  text.reserve(36);
  for (int digit = 0; digit < 32; ++digit) {
    if (digit == 8 || digit == 12 || digit == 16 || digit == 20) {
      text += '-';
    }
    const std::uint64_t half = digit < 16 ? high : low;
    text += kHex[(half >> (60 - 4 * (digit % 16))) & 0xf];
  }
  return text;
}

}  // namespace

std::string Entropy::uuid() {
  const std::uint64_t high = next();
  return uuid_of(high, next());
}

std::string Entropy::uuid_at(Instant now) {
  const auto micros = static_cast<std::uint64_t>(now.time_since_epoch().count());
  // 48 bits of milliseconds, the version's four, ten bits of microseconds, two random ones.
  const std::uint64_t high = ((micros / 1000) << 16U) | ((micros % 1000) << 2U) | (next() & 3U);
  return uuid_of(high, next());
}

std::string Entropy::name_suffix() {
  constexpr std::string_view kAlphabet = "bcdfghjklmnpqrstvwxz2456789";
  std::uint64_t bits = next();
  std::string text;
  for (int i = 0; i < 5; ++i) {
    text += kAlphabet[bits % kAlphabet.size()];
    bits /= kAlphabet.size();
  }
  return text;
}

std::unique_ptr<Clock> wall_clock() {
  return std::make_unique<WallClock>();
}

std::unique_ptr<Entropy> system_entropy() {
  return std::make_unique<SystemEntropy>();
}

std::unique_ptr<Entropy> seeded_entropy(std::uint64_t seed) {
  return std::make_unique<SeededEntropy>(seed);
}

}  // namespace athanor
