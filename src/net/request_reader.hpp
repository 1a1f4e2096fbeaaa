// SPDX-License-Identifier: Apache-2.0
// Bytes of one connection to requests, without I/O.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "net/chunked_reader.hpp"
#include "net/http.hpp"
#include "net/request_head.hpp"

namespace athanor::net {

// Not thread-safe.
class RequestReader {
 public:
  enum class State : std::uint8_t {
    Idle,      // no byte of the next request came yet
    Head,      // reading its head
    Body,      // the head is known, reading the body
    Complete,  // take() it
    Failed,    // rejection() says how; nothing more can be read
  };

  RequestReader(std::size_t header_limit, std::size_t body_limit)
      : header_limit_(header_limit), body_limit_(body_limit) {}

  // Reads from the front of `input` and erases what was read. Bytes behind a complete request stay.
  State feed(std::string& input);
  [[nodiscard]] State state() const { return state_; }
  [[nodiscard]] const Rejection& rejection() const { return rejection_; }
  // Returns true once per request, from Body on: the client awaits "100 Continue" before the body.
  [[nodiscard]] bool take_expectation();
  // Belongs to the request whose head came last.
  [[nodiscard]] bool keep_alive() const { return keep_alive_; }
  [[nodiscard]] bool http_1_0() const { return http_1_0_; }
  [[nodiscard]] bool is_head() const { return is_head_; }
  // Returns the bytes of the body that came.
  [[nodiscard]] std::size_t body_size() const { return body_.size(); }
  // Returns the largest possible body: its length if that is given, else the limit.
  [[nodiscard]] std::size_t expected_body() const {
    return chunked_ ? body_limit_ : body_.size() + body_left_;
  }
  // Returns the request whose head came last, without its body.
  [[nodiscard]] const net::Request& head() const { return request_; }
  // Takes the complete request without credentials; the reader is ready for the next one.
  net::Request take();

 private:
  void skip_empty_lines(std::string& input);
  void read_head(std::string& input);
  void read_body(std::string& input);
  void read_chunked(std::string& input);
  void begin_request(RequestHead head);
  void fail(Rejection rejection);
  void fail_too_large();

  const std::size_t header_limit_;
  const std::size_t body_limit_;
  State state_ = State::Idle;
  std::size_t searched_ = 0;  // bytes of the input known to hold no end of a head
  std::size_t empty_ = 0;     // bytes of empty lines in front of the request
  net::Request request_{};
  std::string body_{};
  std::size_t body_left_ = 0;
  std::optional<ChunkedReader> chunked_{};
  Rejection rejection_{};
  bool expects_continue_ = false;
  bool keep_alive_ = false;
  bool http_1_0_ = false;
  bool is_head_ = false;
};

}  // namespace athanor::net
