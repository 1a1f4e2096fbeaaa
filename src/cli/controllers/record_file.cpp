// SPDX-License-Identifier: Apache-2.0
#include "cli/controllers/record_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "base/log.hpp"

namespace athanor::cli {

namespace {

constexpr std::size_t kBuffer = std::size_t{64} * 1024;
constexpr mode_t kMode = 0600;
constexpr std::string_view kRun = "[\"r\"";  // a batch ends with it: a good time to write

}  // namespace

Result<std::unique_ptr<RecordFile>> RecordFile::create(const std::string& path, std::size_t limit) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, kMode);
  if (file < 0) {
    return Error::unavailable(
        fmt::format("--record: {}: {}", path, std::generic_category().message(errno)));
  }
  // NOLINTNEXTLINE(cppcoreguidelines-owning-memory): the constructor is private
  return std::unique_ptr<RecordFile>(new RecordFile(file, limit));
}

RecordFile::~RecordFile() {
  flush();
  ::close(file_);
}

bool RecordFile::write(std::string_view line) {
  if (line.size() > left_) {
    flush();
    log::warn("the record is full: it ends here");
    return false;
  }
  left_ -= line.size();
  buffer_ += line;
  return (buffer_.size() < kBuffer && !line.starts_with(kRun)) || flush();
}

bool RecordFile::flush() {
  std::string_view rest = buffer_;
  while (!rest.empty()) {
    const ssize_t written = ::write(file_, rest.data(), rest.size());
    if (written < 0 && errno == EINTR) {
      continue;
    }
    if (written <= 0) {
      log::warn("the record cannot be written: it ends here",
                {{"error", std::generic_category().message(errno)}});
      left_ = 0;
      buffer_.clear();
      return false;
    }
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
  buffer_.clear();
  return true;
}

}  // namespace athanor::cli
