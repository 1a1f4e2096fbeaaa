// SPDX-License-Identifier: Apache-2.0
// HTTP/1.1 requests: read byte by byte or at once, the same requests come out.
#include <string>
#include <vector>

#include "fuzz/fuzz.hpp"
#include "net/request_reader.hpp"

namespace athanor::fuzz {
namespace {

using net::RequestReader;

std::vector<std::string> read_all(std::string_view bytes, std::size_t step) {
  RequestReader reader(8192, 65536);
  std::vector<std::string> seen;
  std::string input;
  const auto take_complete = [&] {
    while (reader.feed(input) == RequestReader::State::Complete) {
      const net::Request request = reader.take();
      std::string text = request.method + " " + request.path;
      for (const auto& [name, value] : request.query) {
        text += " " + name + "=" + value;
      }
      for (const auto& [name, value] : request.headers) {
        text += "\n" + name + ": " + value;
      }
      if (const auto* body = std::get_if<std::string>(&request.body)) {
        text += "\n\n" + *body;
      }
      seen.push_back(std::move(text));
    }
    return reader.state() != RequestReader::State::Failed;
  };
  for (std::size_t at = 0; at < bytes.size(); at += step) {
    input += bytes.substr(at, step);
    if (!take_complete()) {
      seen.emplace_back("failed");
      break;
    }
  }
  return seen;
}

}  // namespace
}  // namespace athanor::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = athanor::fuzz::text_of(data, size);
  const auto whole = athanor::fuzz::read_all(bytes, std::max<std::size_t>(1, size));
  const auto pieces = athanor::fuzz::read_all(bytes, 1);
  ATHANOR_CHECK(whole == pieces, "how bytes arrive does not matter");
  return 0;
}
