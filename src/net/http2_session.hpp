// SPDX-License-Identifier: Apache-2.0
// HTTP/2 of one connection: bytes in, requests out, responses in, bytes out. nghttp2 without I/O;
// for the loop's thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "net/http.hpp"

namespace athanor::net {

// Limits of one connection.
struct Http2Limits {
  std::uint32_t streams = 250;                          // at a time (docs/spec/apiserver.md 2.2)
  std::size_t header_bytes = std::size_t{1} << 20;      // of one request: 431
  std::size_t body_bytes = std::size_t{3} << 20;        // of one request: 413
  std::size_t buffered_bytes = std::size_t{32} << 20;   // of unanswered requests together: 429
  std::size_t unscreened_body = std::size_t{32} << 10;  // taken before the sender is authenticated
  int resets = 200;                                     // by the client or provoked, in a row
  int resets_per_second = 20;                           // that are forgiven
  std::chrono::milliseconds request_timeout{120'000};   // from a request's head to its end
  std::chrono::milliseconds progress_timeout{60'000};   // of an answer that the client lets wait
};

// One HTTP/2 connection without a socket.
class Http2Session {
 public:
  using Time = std::chrono::steady_clock::time_point;
  // What becomes of a request whose body is still to come.
  enum class Verdict : std::uint8_t {
    Go,      // the body is taken
    Refuse,  // the request is handled without its body, to be refused (Request::without_body)
    Busy,    // 429
  };
  struct Callbacks {
    // A request is complete.
    std::function<void(std::int32_t stream, net::Request request)> request{};
    // A request has a large body; ends in screened().
    std::function<void(std::int32_t stream, net::Request head, std::size_t body)> screen{};
    // Whether the session may hold so many more bytes of answers; if not, the stream is reset.
    std::function<bool(std::size_t more)> may_hold{};
    // What wakes a stream's answer, from any thread; ends in wake().
    std::function<std::function<void()>(std::int32_t stream)> waker{};
    // A stream ended, its request answered or not; may be empty.
    std::function<void(std::int32_t stream)> gone{};
    std::function<std::string()> date{};
    // Changes a refusal that the session gives by itself (431, 413, 429, 400); empty: as it is.
    std::function<net::Response(net::Response response)> refusal{};
  };

  Http2Session(const Http2Limits& limits, Callbacks callbacks);
  Http2Session(const Http2Session&) = delete;
  Http2Session& operator=(const Http2Session&) = delete;
  ~Http2Session();

  // Returns false if the client broke the protocol or resets too much: send the output, then close.
  bool feed(std::string_view bytes, Time now);
  // Appends at most about `limit` bytes to send; false when there is nothing.
  bool take_output(std::string& out, std::size_t limit);
  // Sends the answer of a request; drops it when the client has given it up.
  void respond(std::int32_t stream, net::Response& response);
  // Takes the verdict of screening; drops it when the client has given the request up.
  void screened(std::int32_t stream, Verdict verdict);
  // Continues the stream's answer, which may have more.
  void wake(std::int32_t stream);
  // Takes no further requests; over() when those that run are done.
  void drain();
  // Resets stalled streams.
  void check_time(Time now);
  [[nodiscard]] bool idle() const;
  // Returns the bytes of unanswered requests, heads and bodies.
  [[nodiscard]] std::size_t request_bytes() const;
  // Returns the bytes of unsent answers.
  [[nodiscard]] std::size_t answer_bytes() const;
  // Returns true if there is nothing more to read or write.
  [[nodiscard]] bool over() const;

 private:
  struct Stream;
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace athanor::net
