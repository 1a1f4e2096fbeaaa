// SPDX-License-Identifier: Apache-2.0
// The only file that includes LZ4.
#include "base/lz.hpp"

#include <lz4.h>

#include <algorithm>
#include <string>

#include "base/check.hpp"

namespace athanor {
namespace {

constexpr std::size_t kMostText = std::size_t{1} << 30U;

}  // namespace

struct LzCodec::Impl {
  explicit Impl(std::string_view text) : dictionary(text) {
    LZ4_initStream(&taught, sizeof(taught));
    LZ4_loadDict(&taught, dictionary.data(), static_cast<int>(dictionary.size()));
  }

  const std::string dictionary;
  LZ4_stream_t taught{};  // as it is before a text; refers to the dictionary
  LZ4_stream_t stream{};
  std::string buffer{};  // what the last call made
};

LzCodec::LzCodec(std::string_view dictionary)
    : impl_(std::make_unique<Impl>(
          dictionary.substr(dictionary.size() - std::min(dictionary.size(), kMostDictionary)))) {}

LzCodec::~LzCodec() = default;

std::string_view LzCodec::compress(std::string_view text) {
  ATHANOR_CHECK(text.size() < kMostText, "a text is shorter than 1 GiB");
  const int size = static_cast<int>(text.size());
  std::string& buffer = impl_->buffer;
  buffer.resize(static_cast<std::size_t>(LZ4_compressBound(size)));
  impl_->stream = impl_->taught;
  const int count = LZ4_compress_fast_continue(&impl_->stream, text.data(), buffer.data(), size,
                                               static_cast<int>(buffer.size()), 1);
  ATHANOR_CHECK(count > 0, "compressed bytes fit their bound");
  return std::string_view(buffer).substr(0, static_cast<std::size_t>(count));
}

std::string_view LzCodec::decompress(std::string_view bytes, std::size_t size) {
  ATHANOR_CHECK(bytes.size() < 2 * kMostText - 1 && size < kMostText, "compressed bytes are whole");
  std::string& buffer = impl_->buffer;
  buffer.resize(size);
  const int count = LZ4_decompress_safe_usingDict(
      bytes.data(), buffer.data(), static_cast<int>(bytes.size()), static_cast<int>(size),
      impl_->dictionary.data(), static_cast<int>(impl_->dictionary.size()));
  ATHANOR_CHECK(count >= 0 && static_cast<std::size_t>(count) == size,
                "compressed bytes are whole");
  return buffer;
}

}  // namespace athanor
