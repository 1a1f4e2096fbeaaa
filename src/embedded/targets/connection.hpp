// SPDX-License-Identifier: Apache-2.0
// One client of an emulated target cluster: HTTP/1.1 over TLS. For server.cpp; everything on the
// event loop's thread.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/clock.hpp"
#include "embedded/apiserver/http.hpp"
#include "embedded/targets/api.hpp"
#include "embedded/transport/event_loop.hpp"
#include "embedded/transport/request_reader.hpp"
#include "embedded/transport/tls.hpp"

namespace athanor::targets {

// What all connections of all targets share; for the loop's thread alone.
struct Shared {
  transport::EventLoop loop{};
  Clock* clock = nullptr;
  std::array<char, std::size_t{16} * 1024> block{};  // where reads go first
  std::function<void(const apiserver::Request& request)> count{};
};

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  using Gone = std::function<void(const std::shared_ptr<Connection>& self)>;

  // Owns the socket, which is non-blocking. `gone` is called once, when it has ended by itself.
  Connection(Shared& shared, std::shared_ptr<const transport::TlsContext> tls,
             std::shared_ptr<const Face> face, int socket, Gone gone);
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
  void answer(const apiserver::Request& request);
  void respond(apiserver::Response response);
  void flush();
  // Takes more of the body; false: there is nothing now.
  bool pull();
  void finish();
  // Reads what is of no interest until the client leaves.
  void await_end();
  void end();
  void when_readable(Step step);
  void when_writable(Step step);
  void expect_within(std::chrono::milliseconds time);

  Shared& shared_;
  std::shared_ptr<const transport::TlsContext> context_;
  std::shared_ptr<const Face> face_;
  Gone gone_;
  transport::EventLoop::Descriptor descriptor_;
  transport::EventLoop::Timer deadline_;
  transport::EventLoop::Timer delay_;
  transport::TlsStream tls_;
  transport::RequestReader reader_;
  std::string input_{};
  std::string output_{};
  std::size_t written_ = 0;
  std::unique_ptr<apiserver::Stream> stream_{};
  bool keep_alive_ = false;
  bool closed_ = false;
};

}  // namespace athanor::targets
