// SPDX-License-Identifier: Apache-2.0
#include "base/files/text_file.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <limits>
#include <system_error>

namespace athanor {
namespace {

Error unreadable(const std::string& path, int cause) {
  std::string message =
      fmt::format("cannot read {}: {}", path, std::generic_category().message(cause));
  return cause == ENOENT ? Error::not_found(std::move(message))
                         : Error::bad_request(std::move(message));
}

Result<std::string> read_bytes(const std::string& path, std::size_t most) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) {
    return unreadable(path, errno);
  }
  std::string content;
  std::array<char, 65536> block{};
  int cause = 0;
  while (cause == 0) {
    const ssize_t size = ::read(file, block.data(), block.size());
    if (size == 0) {
      break;
    }
    if (size < 0) {
      cause = errno == EINTR ? 0 : errno;
    } else if (content.size() + static_cast<std::size_t>(size) > most) {
      cause = EFBIG;
    } else {
      content.append(block.data(), static_cast<std::size_t>(size));
    }
  }
  ::close(file);
  if (cause != 0) {
    return unreadable(path, cause);
  }
  return content;
}

}  // namespace

Result<std::string> read_text_file(const std::string& path) {
  return read_bytes(path, std::size_t{1} << 27);
}

Result<std::string> read_whole_file(const std::string& path) {
  return read_bytes(path, std::numeric_limits<std::size_t>::max());
}

}  // namespace athanor
