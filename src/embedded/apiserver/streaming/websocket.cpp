// SPDX-License-Identifier: Apache-2.0
#include "embedded/apiserver/streaming/websocket.hpp"

#include <charconv>
#include <utility>

#include "base/digest.hpp"

namespace athanor::apiserver {
namespace {

constexpr std::uint16_t kProtocolError = 1002;
constexpr std::uint16_t kTooBig = 1009;
constexpr unsigned kFin = 0x80;
constexpr unsigned kReserved = 0x70;
constexpr unsigned kMasked = 0x80;
constexpr unsigned kLength16 = 126;
constexpr unsigned kLength64 = 127;
constexpr std::size_t kMaskSize = 4;
constexpr std::size_t kKeptCapacity = std::size_t{64} << 10;  // bytes of an empty buffer

unsigned byte_at(std::string_view bytes, std::size_t index) {
  return static_cast<unsigned char>(bytes[index]);
}

std::uint64_t number_at(std::string_view bytes, std::size_t index, std::size_t size) {
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < size; ++i) {
    number = number << 8U | byte_at(bytes, index + i);
  }
  return number;
}

bool is_control(WebSocketOpcode opcode) {
  return opcode == WebSocketOpcode::Close || opcode == WebSocketOpcode::Ping ||
         opcode == WebSocketOpcode::Pong;
}

bool is_known(unsigned opcode) {
  return opcode <= 2 || (opcode >= 8 && opcode <= 10);
}

}  // namespace

std::string websocket_accept(std::string_view key) {
  const std::string hex = sha1_hex(std::string(key) + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11");
  std::string digest;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    unsigned value = 0;
    std::from_chars(hex.data() + i, hex.data() + i + 2, value, 16);
    digest += static_cast<char>(value);
  }
  return base64_encode(digest);
}

std::string websocket_frame(WebSocketOpcode opcode, std::string_view payload) {
  std::string frame(1, static_cast<char>(kFin | static_cast<unsigned>(opcode)));
  const std::uint64_t size = payload.size();
  std::size_t length_bytes = 0;
  if (size < kLength16) {
    frame += static_cast<char>(size);
  } else if (size <= 0xFFFF) {
    frame += static_cast<char>(kLength16);
    length_bytes = 2;
  } else {
    frame += static_cast<char>(kLength64);
    length_bytes = 8;
  }
  for (std::size_t i = length_bytes; i > 0; --i) {
    frame += static_cast<char>((size >> (8 * (i - 1))) & 0xFFU);
  }
  frame += payload;
  return frame;
}

std::string websocket_close(std::uint16_t code, std::string_view reason) {
  std::string payload{static_cast<char>(code >> 8U), static_cast<char>(code & 0xFFU)};
  payload += reason.substr(0, 120);
  return websocket_frame(WebSocketOpcode::Close, payload);
}

// What was read goes once for many frames: a client may send very small ones.
void WebSocketReader::feed(std::string_view bytes) {
  input_.erase(0, read_);
  read_ = 0;
  if (input_.empty() && input_.capacity() > kKeptCapacity) {
    input_.shrink_to_fit();
  }
  input_ += bytes;
}

std::optional<WebSocketReader::Head> WebSocketReader::read_head() {
  const std::string_view input = rest();
  if (input.size() < 2) {
    return std::nullopt;
  }
  const unsigned first = byte_at(input, 0);
  const unsigned second = byte_at(input, 1);
  Head head;
  head.last = (first & kFin) != 0;
  head.opcode = static_cast<WebSocketOpcode>(first & 0x0FU);
  head.payload = second & 0x7FU;
  head.size = 2;
  // Clients mask (5.1); no extension was agreed on that would use the reserved bits.
  if ((second & kMasked) == 0 || (first & kReserved) != 0 || !is_known(first & 0x0FU) ||
      (is_control(head.opcode) && (!head.last || head.payload >= kLength16))) {
    broken_ = kProtocolError;
    return std::nullopt;
  }
  if (head.payload >= kLength16) {
    const std::size_t size = head.payload == kLength16 ? 2 : 8;
    if (input.size() < head.size + size) {
      return std::nullopt;
    }
    head.payload = number_at(input, head.size, size);
    head.size += size;
  }
  if (head.payload > limit_) {
    broken_ = kTooBig;
    return std::nullopt;
  }
  if (input.size() < head.size + kMaskSize + head.payload) {
    return std::nullopt;
  }
  return head;
}

std::optional<WebSocketReader::Message> WebSocketReader::next() {
  while (broken_ == 0) {
    const std::optional<Head> head = read_head();
    if (!head) {
      return std::nullopt;
    }
    const std::string_view mask = rest().substr(head->size, kMaskSize);
    std::string payload(
        rest().substr(head->size + kMaskSize, static_cast<std::size_t>(head->payload)));
    read_ += head->size + kMaskSize + payload.size();
    for (std::size_t i = 0; i < payload.size(); ++i) {
      payload[i] = static_cast<char>(byte_at(payload, i) ^ byte_at(mask, i % kMaskSize));
    }
    if (auto message = add_frame(*head, std::move(payload))) {
      return message;
    }
  }
  return std::nullopt;
}

std::optional<WebSocketReader::Message> WebSocketReader::add_frame(const Head& head,
                                                                   std::string payload) {
  if (is_control(head.opcode)) {
    return Message{.opcode = head.opcode, .payload = std::move(payload)};
  }
  const bool continues = head.opcode == WebSocketOpcode::Continuation;
  if (continues != partial_.has_value()) {
    broken_ = kProtocolError;
    return std::nullopt;
  }
  if (!partial_) {
    partial_ = Message{.opcode = head.opcode, .payload = {}};
  }
  partial_->payload += payload;
  if (partial_->payload.size() > limit_) {
    broken_ = kTooBig;
    return std::nullopt;
  }
  return head.last ? std::exchange(partial_, std::nullopt) : std::nullopt;
}

}  // namespace athanor::apiserver
