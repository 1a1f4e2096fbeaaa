// SPDX-License-Identifier: Apache-2.0
// The last stage: a response's value as bytes (docs/spec/apiserver.md 2.5, 2.6).
#include <zlib.h>

#include <limits>

#include "embedded/apiserver/read/encode.hpp"
#include "embedded/apiserver/request/negotiate.hpp"
#include "kube/protobuf/protobuf.hpp"
#include "kube/text/json.hpp"
#include "kube/text/yaml.hpp"

namespace athanor::apiserver {
namespace {

constexpr std::size_t kGzipFrom = std::size_t{128} << 10;  // bytes
constexpr int kGzipWindow = 15 + 16;                       // the largest, with a gzip header
constexpr int kMemoryLevel = 8;                            // zlib's default

// Empty when zlib has no memory; the body then stays plain.
std::string gzip(std::string& body) {
  z_stream stream{};
  if (deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, kGzipWindow, kMemoryLevel,
                   Z_DEFAULT_STRATEGY) != Z_OK) {
    return {};
  }
  std::string packed(deflateBound(&stream, static_cast<uLong>(body.size())), '\0');
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): zlib speaks unsigned bytes
  stream.next_in = reinterpret_cast<Bytef*>(body.data());
  stream.avail_in = static_cast<uInt>(body.size());
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): as above
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  const bool finished = deflate(&stream, Z_FINISH) == Z_STREAM_END;
  packed.resize(finished ? stream.total_out : 0);
  deflateEnd(&stream);
  return packed;
}

void compress(const Request& request, Response& response) {
  if (response.stream != nullptr || response.body.size() < kGzipFrom ||
      response.body.size() > std::numeric_limits<uInt>::max() / 2 || !accepts_gzip(request)) {
    return;
  }
  std::string packed = gzip(response.body);
  if (packed.empty()) {
    return;
  }
  response.body = std::move(packed);
  response.headers.emplace_back("Content-Encoding", "gzip");
  response.headers.emplace_back("Vary", "Accept-Encoding");
}

std::string text_of(const Request& request, const Response& response) {
  if (response.content_type == "application/yaml") {
    return yaml::print(*response.value);
  }
  std::string text;
  if (wants_pretty(request)) {
    text = json::print(*response.value, json::Style::Pretty);
  } else {
    json::append(*response.value, text);
  }
  return text += '\n';
}

std::string bytes_of(const Request& request, Response& response) {
  if (response.content_type == kProtobufType) {
    if (auto bytes = protobuf::encode(*response.value); bytes.ok()) {
      return *std::move(bytes);
    }
    response.content_type = "application/json";  // not a built-in type; every client reads this
  }
  return text_of(request, response);
}

}  // namespace

void encode(const Request& request, Response& response) {
  if (response.value) {
    response.body = bytes_of(request, response);
    response.value.reset();
  }
  compress(request, response);
}

}  // namespace athanor::apiserver
