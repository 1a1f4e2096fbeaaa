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
  // Takes a dictionary, of which only the last 32 KiB are used.
  explicit LzCodec(std::string_view dictionary);
  LzCodec(const LzCodec&) = delete;
  LzCodec& operator=(const LzCodec&) = delete;
  ~LzCodec();

  // Returns the compressed text, valid until the next call; at most 1/255 and 16 bytes longer than
  // the text, which must be shorter than 1 GiB.
  std::string_view compress(std::string_view text);
  // Returns the text, of `size` bytes, that compress() was given; valid until the next call. Ends
  // the program on anything else than compress() made.
  std::string_view decompress(std::string_view bytes, std::size_t size);

  static constexpr std::size_t kMostDictionary = std::size_t{32} << 10U;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace athanor
