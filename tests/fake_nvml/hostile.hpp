// SPDX-License-Identifier: Apache-2.0
// Answers of a broken driver: a sequence of bytes decides call by call whether the fake library
// answers rightly, with an error code, or with numbers and texts that make no sense. No answer
// writes beyond the caller's buffers: NVIDIA's library does not either.
#pragma once

#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "agent/nvml/nvml_abi.hpp"

namespace athanor::fake_nvml {

// Not thread-safe: used under the library's lock.
class Hostile {
 public:
  // Decides by these bytes, then answers rightly.
  void load(std::string bytes) {
    bytes_ = std::move(bytes);
    at_ = 0;
    seed_ = 0;
  }
  // Decides by chance for as long as the seed stays; 0: answers rightly.
  void follow(std::uint64_t seed) {
    if (seed != seed_ && bytes_.empty()) {
      seed_ = seed;
      state_ = seed * 2 + 1;
    }
  }

  // The code of a call that fails; nullopt: it goes on.
  std::optional<agent::nvml::Return> code() {
    static constexpr agent::nvml::Return kCodes[] = {agent::nvml::Uninitialized,
                                                     agent::nvml::InvalidArgument,
                                                     agent::nvml::NotSupported,
                                                     agent::nvml::NoPermission,
                                                     agent::nvml::NotFound,
                                                     agent::nvml::InsufficientSize,
                                                     agent::nvml::Timeout,
                                                     agent::nvml::GpuIsLost,
                                                     agent::nvml::InUse,
                                                     agent::nvml::InsufficientResources,
                                                     agent::nvml::Unknown,
                                                     static_cast<agent::nvml::Return>(-1),
                                                     static_cast<agent::nvml::Return>(77)};
    const unsigned int one = next();
    return strikes(one) ? std::optional(kCodes[one % std::size(kCodes)]) : std::nullopt;
  }

  template <class Number>
  void spoil(Number& number) {
    const unsigned int one = next();
    if (!strikes(one)) {
      return;
    }
    using Limits = std::numeric_limits<Number>;
    const Number values[] = {0,
                             1,
                             8,
                             65,
                             Limits::max(),
                             static_cast<Number>(Limits::max() - 1),
                             static_cast<Number>(Limits::max() / 2 + 1),
                             static_cast<Number>(Limits::max() / 2),
                             static_cast<Number>(number + 1),
                             static_cast<Number>(number * 1024)};
    number = values[one % std::size(values)];
  }

  // A text that others take for a name; all of the buffer may be full, without an end.
  void spoil(char* text, unsigned int size) {
    static constexpr std::string_view kTexts[] = {"",
                                                  "\xff\xfe\xc0",
                                                  "GPU-1\nNVIDIA_VISIBLE_DEVICES=all",
                                                  "MIG-a,MIG-b",
                                                  "\"",
                                                  "GPU-same",
                                                  "MIG-same",
                                                  "../../etc/passwd",
                                                  "\x01\x02"};
    const unsigned int one = next();
    if (!strikes(one) || size == 0) {
      return;
    }
    if (one % 10 == 9) {
      std::memset(text, one % 20 == 9 ? 'G' : 0xee, size);
      return;
    }
    const std::string_view chosen = kTexts[one % 10];
    std::memset(text, 0, size);
    std::memcpy(text, chosen.data(), std::min<std::size_t>(chosen.size(), size - 1));
  }

  // A handle that names nothing, or another thing.
  template <class Handle>
  void spoil_handle(Handle& handle) {
    const unsigned int one = next();
    if (strikes(one)) {
      handle = reinterpret_cast<Handle>(static_cast<std::uintptr_t>(one % 3 == 0 ? 0 : one));
    }
  }

 private:
  static bool strikes(unsigned int one) { return one >= 224; }
  unsigned int next() {
    if (at_ < bytes_.size()) {
      return static_cast<unsigned char>(bytes_[at_++]);
    }
    if (seed_ == 0) {
      return 0;
    }
    state_ ^= state_ << 13U;
    state_ ^= state_ >> 7U;
    state_ ^= state_ << 17U;
    return static_cast<unsigned int>(state_ >> 24U) & 0xffU;
  }

  std::string bytes_{};
  std::size_t at_ = 0;
  std::uint64_t seed_ = 0;
  std::uint64_t state_ = 1;
};

}  // namespace athanor::fake_nvml
