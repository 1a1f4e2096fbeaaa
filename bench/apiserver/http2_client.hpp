// SPDX-License-Identifier: Apache-2.0
// Many requests at once over a few TLS connections with HTTP/2, on one thread and with little work
// of its own: it shares the machine with the server that it measures.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace athanor::bench {

using Clock = std::chrono::steady_clock;

struct Server {
  std::string host{};
  std::string port{};
  std::string ca_file{};  // PEM
  std::string token{};    // the bearer's
};

struct Query {
  std::string method = "GET";
  std::string path{};
  std::string content_type{};
  std::string body{};
};

struct Handlers {
  std::function<void(std::string_view bytes)> data{};
  // Once; 0: the stream was reset before it had a status.
  std::function<void(int status)> ended{};
};

class Http2Client {
 public:
  // Connects and shakes hands with each connection; they stay open.
  static Result<std::unique_ptr<Http2Client>> open(const Server& server, std::size_t connections);
  Http2Client(const Http2Client&) = delete;
  Http2Client& operator=(const Http2Client&) = delete;
  ~Http2Client();

  // Leaves with the next run(); handlers may call it.
  Result<void> send(std::size_t connection, const Query& query, Handlers handlers);
  // Sends what waits, then waits for bytes until `limit` is over and runs their handlers. An error
  // when a connection is lost.
  Result<void> run(std::chrono::milliseconds limit);
  [[nodiscard]] std::size_t connections() const { return lines_.size(); }

 private:
  class Line;
  Http2Client();
  std::vector<std::unique_ptr<Line>> lines_{};
};

}  // namespace athanor::bench
