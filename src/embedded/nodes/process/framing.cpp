// SPDX-License-Identifier: Apache-2.0
// Framing of messages.
#include "embedded/nodes/process/framing.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>

#include "kube/text/json.hpp"

namespace athanor::nodes {
namespace {

bool would_block() {
  return errno == EAGAIN || errno == EWOULDBLOCK;
}

constexpr std::size_t kMostFiles = 8;  // of one message
using ControlBuffer = std::array<char, CMSG_SPACE(kMostFiles * sizeof(int))>;

// As send(), with descriptors.
ssize_t send_with_files(int socket, std::string_view bytes, std::span<const int> files) {
  iovec part{.iov_base = const_cast<char*>(bytes.data()), .iov_len = bytes.size()};
  alignas(cmsghdr) ControlBuffer control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = CMSG_SPACE(files.size_bytes());
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(files.size_bytes());
  std::memcpy(CMSG_DATA(header), files.data(), files.size_bytes());
  return ::sendmsg(socket, &message, MSG_NOSIGNAL);
}

// As recv(), with descriptors.
ssize_t receive_with_files(int socket, char* bytes, std::size_t size, std::vector<int>& files) {
  iovec part{.iov_base = bytes, .iov_len = size};
  alignas(cmsghdr) ControlBuffer control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  const ssize_t count = ::recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  for (cmsghdr* header = count > 0 ? CMSG_FIRSTHDR(&message) : nullptr; header != nullptr;
       header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS) {
      const std::size_t received = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
      const std::size_t known = files.size();
      files.resize(known + received);
      std::memcpy(files.data() + known, CMSG_DATA(header), received * sizeof(int));
    }
  }
  return count;
}

}  // namespace

std::string frame_of(const Value& message) {
  const std::string text = json::print(message);
  const auto size = static_cast<std::uint32_t>(text.size());
  std::string frame(sizeof size, '\0');
  std::memcpy(frame.data(), &size, sizeof size);
  return frame + text;
}

bool send_frame(int socket, const Value& message, std::span<const int> files) {
  const std::string frame = frame_of(message);
  std::size_t sent = 0;
  while (sent < frame.size()) {
    const std::string_view rest = std::string_view(frame).substr(sent);
    const ssize_t count = sent == 0 && !files.empty()
                              ? send_with_files(socket, rest, files)
                              : ::send(socket, rest.data(), rest.size(), MSG_NOSIGNAL);
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
    const ssize_t count = receive_with_files(socket, chunk, sizeof chunk, files_);
    if (count > 0) {
      buffer_.append(chunk, static_cast<std::size_t>(count));
    } else if (count == 0) {
      return false;
    } else if (errno != EINTR) {
      return would_block();
    }
  }
}

FrameReader::~FrameReader() {
  for (const int file : files_) {
    ::close(file);
  }
}

std::vector<int> FrameReader::take_files(std::size_t count) {
  const auto end = files_.begin() + static_cast<std::ptrdiff_t>(std::min(count, files_.size()));
  std::vector<int> taken(files_.begin(), end);
  files_.erase(files_.begin(), end);
  return taken;
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
