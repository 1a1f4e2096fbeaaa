// SPDX-License-Identifier: Apache-2.0
// One client of a small server: HTTP/1.1, over TLS or plain, one request after another. Everything
// on the event loop's thread. (The API server's own connections, with HTTP/2, watches and workers,
// are in connection.hpp.)
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/clock.hpp"
#include "net/event_loop.hpp"
#include "net/http.hpp"
#include "net/request_reader.hpp"
#include "net/tls.hpp"
#include "net/turns.hpp"

namespace athanor::net {

// What a client may send, in bytes, and how long things may take.
struct ServedLimits {
  std::size_t head = std::size_t{64} * 1024;
  std::size_t body = std::size_t{1024} * 1024;
  std::size_t requests = std::size_t{256} * 1024 * 1024;  // of all connections together: 429
  std::chrono::milliseconds handshake{10'000};
  std::chrono::milliseconds idle{90'000};    // for the next request
  std::chrono::milliseconds stall{60'000};   // without progress in sending
  std::chrono::milliseconds answer{60'000};  // until the handler answers, or a body goes on
};

// What the connections of one server share; for the loop's thread alone.
struct ServedWorld {
  EventLoop loop{};
  TurnQueue turns{loop};
  const Clock* clock = nullptr;
  ServedLimits limits{};
  std::size_t requests = 0;                          // bytes that are not answered
  std::array<char, std::size_t{16} * 1024> block{};  // where reads go first
};

// One connection; owned by shared_ptr, on the loop's thread.
class ServedConnection : public std::enable_shared_from_this<ServedConnection> {
 public:
  // Sends the response after this time; called once, on the loop's thread. May be called when the
  // connection is gone. A stream is pulled until it ends; where it has nothing to give, its wake
  // brings the connection back within `answer`, or the connection ends.
  using Answer = std::function<void(net::Response response, std::chrono::milliseconds after)>;
  // Answers now or later. One that drops `answer` is a server that hangs: the connection ends when
  // the client leaves or the limit is over.
  using Handle = std::function<void(net::Request request, Answer answer)>;
  using Gone = std::function<void(const std::shared_ptr<ServedConnection>& self)>;

  // Owns the socket, which is non-blocking; `world` outlives it. Without `tls` bytes go as they
  // are. `gone` is called once, when it has ended by itself.
  ServedConnection(ServedWorld& world, std::shared_ptr<const TlsContext> tls, int socket,
                   Handle handle, Gone gone);
  ServedConnection(const ServedConnection&) = delete;
  ServedConnection& operator=(const ServedConnection&) = delete;
  ~ServedConnection();

  void start();
  // Ends it without calling `gone`.
  void close();
  // Ends it to make space for another.
  void close_for_newcomer() { end(); }
  // Returns the time since which it waits for a request; nullopt: it is busy.
  [[nodiscard]] std::optional<std::chrono::steady_clock::time_point> resting_since() const;

 private:
  using Step = void (ServedConnection::*)();

  void shake_hands();
  TlsStream::Outcome receive(std::span<char> buffer, std::size_t& size);
  TlsStream::Outcome transmit(std::string_view bytes, std::size_t& size);
  void read();
  void handle(net::Request request);
  void answer(net::Response response, std::chrono::milliseconds after);
  void respond(net::Response response);
  void flush();
  // Takes more of the body; false: there is nothing now.
  bool pull();
  // Pulls again after the stream's wake.
  void resume();
  void finish();
  // Ends it once the client has read what was sent: closing at once resets what it still sends.
  void linger();
  // Keeps what comes for later, until the client leaves.
  void watch();
  void end();
  void when_readable(Step step);
  void when_writable(Step step);
  void later(Step step);
  // Runs a step; a broken invariant in it costs the connection.
  void run(Step step);
  // Notes what it holds; false: the server holds too much.
  bool account();
  void expect_within(std::chrono::milliseconds time);

  ServedWorld& world_;
  std::shared_ptr<const TlsContext> context_;
  Handle handle_;
  Gone gone_;
  EventLoop::Descriptor descriptor_;
  EventLoop::Timer deadline_;
  EventLoop::Timer delay_;
  const int socket_;
  std::optional<TlsStream> tls_{};
  RequestReader reader_;
  Step on_readable_ = nullptr;
  std::string input_{};
  std::string output_{};
  std::size_t written_ = 0;
  std::unique_ptr<net::Stream> stream_{};
  std::size_t held_ = 0;  // bytes of it in the world's count
  std::chrono::steady_clock::time_point since_ = std::chrono::steady_clock::now();
  bool armed_ = false;    // a task waits for something to read
  bool busy_ = false;     // a whole request came, and its answer is not gone
  bool waiting_ = false;  // for the handler
  bool drained_ = false;  // the stream had nothing to give
  bool keep_alive_ = false;
  bool closed_ = false;
};

}  // namespace athanor::net
