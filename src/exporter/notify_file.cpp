// SPDX-License-Identifier: Apache-2.0
#include "exporter/notify_file.hpp"

#include <sys/stat.h>

#include <fstream>

namespace athanor::exporter {
namespace {

std::int64_t stamp_of(const struct stat& state) {
  constexpr std::int64_t kNanos = 1'000'000'000;
  return state.st_ctim.tv_sec * kNanos + state.st_ctim.tv_nsec;
}

}  // namespace

Result<NotifyFile> NotifyFile::open(const std::string& path) {
  NotifyFile file;
  file.path_ = path;
  if (path.empty()) {
    return file;
  }
  struct stat state {};
  if (::stat(path.c_str(), &state) != 0) {
    const std::ofstream made(path);
    if (!made || ::stat(path.c_str(), &state) != 0) {
      return Error::bad_request(path + ": the notify file cannot be made");
    }
  }
  if (!S_ISREG(state.st_mode) || state.st_size != 0) {
    return Error::bad_request(path + ": the notify file must be an empty regular file");
  }
  file.last_ = stamp_of(state);
  return file;
}

bool NotifyFile::touched() {
  struct stat state {};
  if (path_.empty() || ::stat(path_.c_str(), &state) != 0 || stamp_of(state) == last_) {
    return false;
  }
  last_ = stamp_of(state);
  return true;
}

}  // namespace athanor::exporter
