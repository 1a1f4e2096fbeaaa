// SPDX-License-Identifier: Apache-2.0
#include "net/serving/gzip.hpp"

#include <zlib.h>

#include <limits>

namespace athanor::net {
namespace {

constexpr int kGzipWindow = 15 + 16;  // the largest, with a gzip header
constexpr int kMemoryLevel = 8;       // zlib's default

}  // namespace

std::string gzip(std::string_view bytes) {
  z_stream stream{};
  if (bytes.size() > std::numeric_limits<uInt>::max() / 2 ||
      deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, kGzipWindow, kMemoryLevel,
                   Z_DEFAULT_STRATEGY) != Z_OK) {
    return {};
  }
  std::string packed(deflateBound(&stream, static_cast<uLong>(bytes.size())), '\0');
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast,
  // cppcoreguidelines-pro-type-const-cast)
  stream.next_in =
      reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));  // zlib reads it alone
  stream.avail_in = static_cast<uInt>(bytes.size());
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): zlib speaks unsigned bytes
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  const bool finished = deflate(&stream, Z_FINISH) == Z_STREAM_END;
  packed.resize(finished ? stream.total_out : 0);
  deflateEnd(&stream);
  return packed;
}

}  // namespace athanor::net
