// SPDX-License-Identifier: Apache-2.0
#include "embedded/nodes/process/logs/log_files.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <optional>
#include <utility>

#include "embedded/nodes/process/files/regular_file.hpp"

namespace athanor::nodes {
namespace {

constexpr int kMostLogFiles = 64;  // whatever the setting was when they were written

using Identity = std::pair<dev_t, ino_t>;

std::optional<Identity> file_identity(const std::string& path) {
  struct stat status {};
  return ::lstat(path.c_str(), &status) == 0 ? std::optional(Identity(status.st_dev, status.st_ino))
                                             : std::nullopt;
}

// How many rotations ago a file was written; nullopt: it is no longer kept.
std::optional<int> age_of(const std::string& path, Identity file) {
  for (int age = 0; age < kMostLogFiles; ++age) {
    const auto found = file_identity(log_file(path, age));
    if (found == file) {
      return age;
    }
    // While files are renamed, one of the row is missing.
    if (!found && age > 0 && !file_identity(log_file(path, age + 1))) {
      return std::nullopt;
    }
  }
  return std::nullopt;
}

}  // namespace

std::string log_file(const std::string& path, int age) {
  return age == 0 ? path : fmt::format("{}.{}", path, age);
}

// From the oldest on, so that a reader who finds his file where it was knows that the one before it
// is the next.
bool shift_logs(const std::string& path, int files) {
  for (int age = files - 2; age >= 0; --age) {
    const bool moved = ::rename(log_file(path, age).c_str(), log_file(path, age + 1).c_str()) == 0;
    if (!moved && age == 0) {
      return false;
    }
  }
  return true;
}

void move_logs(const std::string& path, const std::string& new_path) {
  for (int age = 0; age < kMostLogFiles; ++age) {
    const std::string target = log_file(new_path, age);
    const bool moved = ::rename(log_file(path, age).c_str(), target.c_str()) == 0;
    if (!moved && ::unlink(target.c_str()) != 0 && age > 0) {
      return;
    }
  }
}

int open_log_to_write(const std::string& path) {
  constexpr int kWriting = O_WRONLY | O_CREAT | O_APPEND | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC;
  const int file = ::open(path.c_str(), kWriting, 0600);
  struct stat status {};
  if (file >= 0 && (::fstat(file, &status) != 0 || !S_ISREG(status.st_mode))) {
    ::close(file);
    return -1;
  }
  return file;
}

int open_next_log(const std::string& path, int file) {
  struct stat status {};
  if (::fstat(file, &status) != 0) {
    return -1;
  }
  const Identity own(status.st_dev, status.st_ino);
  for (int tries = 0; tries < kMostLogFiles; ++tries) {
    const std::optional<int> age = age_of(path, own);
    if (age == 0) {
      return -1;  // it is the newest
    }
    if (!age) {
      // What followed it is gone, too: on with the oldest that is kept.
      int oldest = 0;
      while (oldest + 1 < kMostLogFiles && file_identity(log_file(path, oldest + 1))) {
        ++oldest;
      }
      return open_regular(log_file(path, oldest));
    }
    const int next = open_regular(log_file(path, *age - 1));
    if (file_identity(log_file(path, *age)) == own) {
      return next;  // -1 while the newest is not made yet
    }
    if (next >= 0) {
      ::close(next);  // they were renamed meanwhile
    }
  }
  return -1;
}

}  // namespace athanor::nodes
