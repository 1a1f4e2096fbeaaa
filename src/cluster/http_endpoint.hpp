// SPDX-License-Identifier: Apache-2.0
// HttpEndpoint: a small HTTP/1.1 server for probes, metrics and looking inside: GET alone, one
// answer a connection. Nothing secret may leave by it.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "base/time.hpp"

namespace athanor::cluster {

// One answer of an HttpEndpoint.
struct EndpointAnswer {
  int status = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::string body{};
};

// A small HTTP server for health, metrics and the like. Thread-safe.
class HttpEndpoint {
 public:
  // Called on the endpoint's threads, at most kThreads at a time; `query` without "?". Clients hold
  // none of them: one more thread reads and writes for all.
  using Handler = std::function<EndpointAnswer(std::string_view path, std::string_view query)>;
  static constexpr int kThreads = 4;
  static constexpr std::size_t kClients = 512;  // a further one takes the place of the oldest
  static constexpr Duration kPatience = std::chrono::seconds(5);

  // Listens on "HOST:PORT", an address; no host: every address; port 0: a free one. A request's
  // head has to come whole within `patience`, and an answer goes on within as much. Errors: what is
  // no address, or is taken.
  static Result<std::unique_ptr<HttpEndpoint>> listen(const std::string& address, Handler handler,
                                                      Duration patience = kPatience);
  HttpEndpoint(const HttpEndpoint&) = delete;
  HttpEndpoint& operator=(const HttpEndpoint&) = delete;
  ~HttpEndpoint();  // stops

  // "127.0.0.1:8080".
  [[nodiscard]] const std::string& address() const;

 private:
  struct State;
  explicit HttpEndpoint(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace athanor::cluster
