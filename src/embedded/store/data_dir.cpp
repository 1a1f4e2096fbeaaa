// SPDX-License-Identifier: Apache-2.0
// Making and locking the data directory: flock on <path>/lock, which holds the owner's pid.
#include "embedded/store/data_dir.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

namespace athanor::store {
namespace {

Error system_error(const std::string& path) {
  return Error::internal(path + ": " + std::generic_category().message(errno));
}

// The directories above `path` get the usual mode, the last one 0700.
Result<void> make_directories(const std::string& path) {
  for (std::size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    const bool last = end == std::string::npos;
    const std::string part = path.substr(0, end);
    if (::mkdir(part.c_str(), last ? 0700 : 0755) != 0 && errno != EEXIST) {
      return system_error(part);
    }
    if (last) {
      break;
    }
  }
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) {
    return system_error(path);
  }
  if (!S_ISDIR(status.st_mode)) {
    return Error::internal(path + ": not a directory");
  }
  return {};
}

std::string read_pid(int file) {
  std::array<char, 32> text{};
  const auto size = ::pread(file, text.data(), text.size(), 0);
  std::string pid(text.data(), size > 0 ? static_cast<std::size_t>(size) : 0);
  while (!pid.empty() && pid.back() == '\n') {
    pid.pop_back();
  }
  return pid;
}

}  // namespace

Result<DataDirectory> DataDirectory::open(std::string path) {
  while (path.size() > 1 && path.back() == '/') {
    path.pop_back();
  }
  if (path.empty()) {
    return Error::invalid("data directory", "must not be empty");
  }
  ATHANOR_TRY_VOID(make_directories(path));
  DataDirectory directory(std::move(path));
  directory.lock_ = ::open(directory.lock_file().c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (directory.lock_ < 0) {
    return system_error(directory.lock_file());
  }
  if (::flock(directory.lock_, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) {
      return system_error(directory.lock_file());
    }
    const std::string pid = read_pid(directory.lock_);
    return Error{.code = 409,
                 .reason = "Locked",
                 .message = "data directory " + directory.path_ + " is in use by " +
                            (pid.empty() ? "another process" : "process " + pid)};
  }
  const std::string pid = std::to_string(::getpid()) + "\n";
  // Informative only, therefore best effort: on a full disk the lock still holds.
  if (::ftruncate(directory.lock_, 0) == 0) {
    [[maybe_unused]] const auto written = ::pwrite(directory.lock_, pid.data(), pid.size(), 0);
  }
  return directory;
}

DataDirectory::DataDirectory(DataDirectory&& other) noexcept
    : path_(std::move(other.path_)), lock_(std::exchange(other.lock_, -1)) {}

DataDirectory& DataDirectory::operator=(DataDirectory&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(lock_, other.lock_);
  return *this;
}

DataDirectory::~DataDirectory() {
  if (lock_ >= 0) {
    ::close(lock_);
  }
}

}  // namespace athanor::store
