// SPDX-License-Identifier: Apache-2.0
// Private files by POSIX calls.
#include "net/private_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <system_error>
#include <utility>

#include "base/files/text_file.hpp"

namespace athanor::net {
namespace {

Error system_error(const std::string& path) {
  return Error::internal(path + ": " + std::generic_category().message(errno));
}

bool write_all(int file, std::string_view content) {
  while (!content.empty()) {
    const auto written = ::write(file, content.data(), content.size());
    if (written < 0 && errno != EINTR) {
      return false;
    }
    content.remove_prefix(written < 0 ? 0 : static_cast<std::size_t>(written));
  }
  return ::fsync(file) == 0;
}

}  // namespace

Result<void> write_private_file(const std::string& path, std::string_view content) {
  const std::string draft = path + ".new";
  ::unlink(draft.c_str());  // of a run that was cut off; its mode must not be inherited
  const int file = ::open(draft.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0) {
    return system_error(draft);
  }
  const bool written = write_all(file, content);
  const int cause = errno;
  ::close(file);
  if (!written || ::rename(draft.c_str(), path.c_str()) != 0) {
    errno = written ? errno : cause;
    Error error = system_error(path);
    ::unlink(draft.c_str());
    return error;
  }
  return {};
}

Result<std::optional<std::string>> read_file(const std::string& path) {
  auto text = read_text_file(path);
  if (!text.ok() && text.error().code != 404) {
    return std::move(text).error();
  }
  return text.ok() ? std::optional(*std::move(text)) : std::nullopt;
}

Result<void> make_private_directory(const std::string& path) {
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
    return system_error(path);
  }
  return {};
}

}  // namespace athanor::net
