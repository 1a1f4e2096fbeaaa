// SPDX-License-Identifier: Apache-2.0
// The server's side of WebSocket (RFC 6455): the handshake's answer, messages in, frames out.
// Without I/O.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace athanor::apiserver {

// Returns the Sec-WebSocket-Accept of a Sec-WebSocket-Key.
std::string websocket_accept(std::string_view key);

// Frame types (RFC 6455, 5.2).
enum class WebSocketOpcode : std::uint8_t {
  Continuation = 0,
  Text = 1,
  Binary = 2,
  Close = 8,
  Ping = 9,
  Pong = 10,
};

// Returns one unmasked frame, as servers send them.
std::string websocket_frame(WebSocketOpcode opcode, std::string_view payload);
// Returns the frame that ends the conversation, with a status code (RFC 6455, 7.4.1).
std::string websocket_close(std::uint16_t code, std::string_view reason = {});

// Bytes of a client to whole messages.
class WebSocketReader {
 public:
  struct Message {
    WebSocketOpcode opcode = WebSocketOpcode::Binary;  // never Continuation
    std::string payload{};
  };

  static constexpr std::size_t kMessageLimit = std::size_t{4} << 20;  // bytes

  // Messages of more than `limit` bytes break the protocol.
  explicit WebSocketReader(std::size_t limit = kMessageLimit) : limit_(limit) {}

  void feed(std::string_view bytes);
  // Returns the next message; nullopt: not complete yet, or broken().
  std::optional<Message> next();
  // Returns the status code to close with when the client broke the protocol, else 0.
  [[nodiscard]] std::uint16_t broken() const { return broken_; }

 private:
  struct Head {
    bool last = false;
    WebSocketOpcode opcode = WebSocketOpcode::Binary;
    std::size_t size = 0;  // of the head
    std::uint64_t payload = 0;
  };
  std::optional<Head> read_head();
  std::optional<Message> add_frame(const Head& head, std::string payload);

  // Returns what came and was not read.
  [[nodiscard]] std::string_view rest() const { return std::string_view(input_).substr(read_); }

  const std::size_t limit_;
  std::string input_{};
  std::size_t read_ = 0;              // bytes of input_ that were read
  std::optional<Message> partial_{};  // of a message in several frames
  std::uint16_t broken_ = 0;
};

}  // namespace athanor::apiserver
