// SPDX-License-Identifier: Apache-2.0
// One client of the webhook server: HTTP/1.1 over TLS, one question after another. For server.cpp;
// everything on the event loop's thread.
#pragma once

#include <array>
#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "base/clock.hpp"
#include "embedded/apiserver/http.hpp"
#include "embedded/transport/event_loop.hpp"
#include "embedded/transport/request_reader.hpp"
#include "embedded/transport/tls.hpp"

namespace athanor::webhook {

// What all connections share; for the loop's thread alone.
struct Shared {
  using Answer = std::function<void(apiserver::Response response)>;

  transport::EventLoop loop{};
  const Clock* clock = nullptr;
  std::array<char, std::size_t{16} * 1024> block{};  // where reads go first
  // Calls `answer` once, on the loop's thread.
  std::function<void(apiserver::Request request, Answer answer)> handle{};
};

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  using Gone = std::function<void(const std::shared_ptr<Connection>& self)>;

  // Owns the socket, which is non-blocking. `gone` is called once, when it has ended by itself.
  Connection(Shared& shared, std::shared_ptr<const transport::TlsContext> tls, int socket,
             Gone gone);
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection();

  void start();
  // Ends it without calling `gone`.
  void close();

 private:
  using Step = void (Connection::*)();

  void shake_hands();
  void read();
  void handle(apiserver::Request request);
  void respond(const apiserver::Response& response);
  void flush();
  void finish();
  void end();
  void when_readable(Step step);
  void when_writable(Step step);
  void expect_within(std::chrono::milliseconds time);

  Shared& shared_;
  std::shared_ptr<const transport::TlsContext> context_;
  Gone gone_;
  transport::EventLoop::Descriptor descriptor_;
  transport::EventLoop::Timer deadline_;
  transport::TlsStream tls_;
  transport::RequestReader reader_;
  std::string input_{};
  std::string output_{};
  std::size_t written_ = 0;
  bool keep_alive_ = false;
  bool closed_ = false;
};

}  // namespace athanor::webhook
