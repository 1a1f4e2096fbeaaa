// SPDX-License-Identifier: Apache-2.0
// Framing of messages.
#include "embedded/nodes/process/framing.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

#include "kube/json.hpp"

namespace athanor::nodes {

bool send_frame(int socket, const Value& message) {
  const std::string text = json::print(message);
  const auto size = static_cast<std::uint32_t>(text.size());
  std::string frame(sizeof size, '\0');
  std::memcpy(frame.data(), &size, sizeof size);
  frame += text;
  std::size_t sent = 0;
  while (sent < frame.size()) {
    const ssize_t count = ::send(socket, frame.data() + sent, frame.size() - sent, MSG_NOSIGNAL);
    if (count >= 0) {
      sent += static_cast<std::size_t>(count);
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      pollfd ready{.fd = socket, .events = POLLOUT, .revents = 0};
      ::poll(&ready, 1, -1);
    } else if (errno != EINTR) {
      return false;
    }
  }
  return true;
}

bool FrameReader::fill(int socket) {
  char chunk[65536];
  while (true) {
    const ssize_t count = ::recv(socket, chunk, sizeof chunk, MSG_DONTWAIT);
    if (count > 0) {
      buffer_.append(chunk, static_cast<std::size_t>(count));
    } else if (count == 0) {
      return false;
    } else if (errno != EINTR) {
      return errno == EAGAIN || errno == EWOULDBLOCK;
    }
  }
}

std::optional<Value> FrameReader::next() {
  std::uint32_t size = 0;
  if (buffer_.size() < sizeof size) {
    return std::nullopt;
  }
  std::memcpy(&size, buffer_.data(), sizeof size);
  if (buffer_.size() < sizeof size + size) {
    return std::nullopt;
  }
  auto message = json::parse(std::string_view(buffer_).substr(sizeof size, size));
  buffer_.erase(0, sizeof size + size);
  return message.ok() ? std::optional(*std::move(message)) : std::optional(Value());
}

}  // namespace athanor::nodes
