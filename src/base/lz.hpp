// SPDX-License-Identifier: Apache-2.0
// LzCodec: makes short texts of one sort smaller, fast both ways (LZ4): what a text has in common
// with itself and with a dictionary is said once. For what one process keeps; no exchange format.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

namespace athanor {

// Not thread-safe. What one codec compressed, one with the same dictionary decompresses.
class LzCodec {
 public:
  // Only the last 32 KiB of the dictionary are used.
  explicit LzCodec(std::string_view dictionary);
  LzCodec(const LzCodec&) = delete;
  LzCodec& operator=(const LzCodec&) = delete;
  ~LzCodec();

  // Valid until the next call; at most 1/255 and 16 bytes longer than the text, which is shorter
  // than 1 GiB.
  std::string_view compress(std::string_view text);
  // `size`: of the text. Valid until the next call. Anything else than compress() made ends the
  // program.
  std::string_view decompress(std::string_view bytes, std::size_t size);

  static constexpr std::size_t kMostDictionary = std::size_t{32} << 10U;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace athanor
