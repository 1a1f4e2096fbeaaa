// SPDX-License-Identifier: Apache-2.0
// The last stage: a response's value as bytes (docs/spec/apiserver.md 2.5, 2.6).
#include "embedded/apiserver/read/encode.hpp"
#include "embedded/apiserver/request/negotiate.hpp"
#include "kube/protobuf/protobuf.hpp"
#include "kube/text/json.hpp"
#include "kube/text/yaml.hpp"
#include "net/serving/gzip.hpp"

namespace athanor::apiserver {
namespace {

constexpr std::size_t kGzipFrom = std::size_t{128} << 10;  // bytes

void compress(const Request& request, Response& response) {
  if (response.stream != nullptr || response.body.size() < kGzipFrom || !accepts_gzip(request)) {
    return;
  }
  std::string packed = net::gzip(response.body);
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
