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
namespace {

bool would_block() {
  return errno == EAGAIN || errno == EWOULDBLOCK;
}

}  // namespace

std::string frame_of(const Value& message) {
  const std::string text = json::print(message);
  const auto size = static_cast<std::uint32_t>(text.size());
  std::string frame(sizeof size, '\0');
  std::memcpy(frame.data(), &size, sizeof size);
  return frame + text;
}

bool send_frame(int socket, const Value& message) {
  const std::string frame = frame_of(message);
  std::size_t sent = 0;
  while (sent < frame.size()) {
    const ssize_t count = ::send(socket, frame.data() + sent, frame.size() - sent, MSG_NOSIGNAL);
    if (count >= 0) {
      sent += static_cast<std::size_t>(count);
    } else if (would_block()) {
      pollfd ready{.fd = socket, .events = POLLOUT, .revents = 0};
      ::poll(&ready, 1, -1);
    } else if (errno != EINTR) {
      return false;
    }
  }
  return true;
}

void FrameWriter::push(const Value& message) {
  buffer_ += frame_of(message);
}

bool FrameWriter::flush(int socket) {
  while (!empty()) {
    const ssize_t count =
        ::send(socket, buffer_.data() + sent_, buffer_.size() - sent_, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count >= 0) {
      sent_ += static_cast<std::size_t>(count);
    } else if (errno != EINTR) {
      return would_block();
    }
  }
  buffer_.clear();
  sent_ = 0;
  return true;
}

bool FrameReader::fill(int socket) {
  buffer_.erase(0, taken_);
  taken_ = 0;
  char chunk[65536];
  while (true) {
    const ssize_t count = ::recv(socket, chunk, sizeof chunk, MSG_DONTWAIT);
    if (count > 0) {
      buffer_.append(chunk, static_cast<std::size_t>(count));
    } else if (count == 0) {
      return false;
    } else if (errno != EINTR) {
      return would_block();
    }
  }
}

std::optional<Value> FrameReader::next() {
  const std::string_view rest = std::string_view(buffer_).substr(taken_);
  std::uint32_t size = 0;
  if (rest.size() < sizeof size) {
    return std::nullopt;
  }
  std::memcpy(&size, rest.data(), sizeof size);
  if (rest.size() - sizeof size < size) {
    return std::nullopt;
  }
  taken_ += sizeof size + size;
  return json::parse(rest.substr(sizeof size, size)).value_or(Value());
}

}  // namespace athanor::nodes
