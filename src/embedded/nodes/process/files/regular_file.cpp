// SPDX-License-Identifier: Apache-2.0
#include "embedded/nodes/process/files/regular_file.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/files/descriptor.hpp"

namespace athanor::nodes {
namespace {

constexpr int kReading = O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC;

// The file itself if it is a regular one, else -1.
int regular_only(int file) {
  struct stat status {};
  if (file >= 0 && (::fstat(file, &status) != 0 || !S_ISREG(status.st_mode))) {
    ::close(std::exchange(file, -1));
  }
  return file;
}

}  // namespace

int open_regular(const std::string& path) {
  return regular_only(::open(path.c_str(), kReading));
}

int open_regular_below(const std::string& root, std::string_view path) {
  int folder = ::open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  while (folder >= 0) {
    const std::size_t slash = path.find('/');
    const std::string name(path.substr(0, slash));
    const bool last = slash == std::string_view::npos;
    int next = -1;
    if (!name.empty() && name != "..") {
      next = ::openat(folder, name.c_str(),
                      last ? kReading : O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    }
    ::close(folder);
    if (last) {
      return regular_only(next);
    }
    folder = next;
    path.remove_prefix(slash + 1);
  }
  return -1;
}

std::optional<std::string> read_regular_below(const std::string& root, std::string_view path,
                                              std::size_t limit) {
  const int file = open_regular_below(root, path);
  if (file < 0) {
    return std::nullopt;
  }
  std::string text;
  char chunk[65536];
  while (text.size() < limit) {
    const ssize_t count = ::read(file, chunk, std::min(sizeof chunk, limit - text.size()));
    if (count < 0 && errno == EINTR) {
      continue;
    }
    if (count <= 0) {
      break;
    }
    text.append(chunk, static_cast<std::size_t>(count));
  }
  ::close(file);
  return text;
}

namespace {

// Opens a folder in `parent`, made where something else has its name.
Descriptor real_folder(int parent, const char* name) {
  constexpr int kFolder = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
  Descriptor folder(::openat(parent, name, kFolder));
  if (!folder.valid()) {
    ::unlinkat(parent, name, 0);
    ::mkdirat(parent, name, 0777);
    folder.reset(::openat(parent, name, kFolder));
  }
  return folder;
}

Descriptor real_folder_below(const std::string& root, std::string_view path) {
  Descriptor folder(::open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  while (folder.valid() && !path.empty()) {
    const std::string name(path.substr(0, path.find('/')));
    path.remove_prefix(std::min(path.size(), name.size() + 1));
    folder = name == ".." ? Descriptor() : real_folder(folder.get(), name.c_str());
  }
  return folder;
}

Result<void> write_new_file_in(int folder, const std::string& path, std::string_view data,
                               unsigned mode) {
  ::unlinkat(folder, path.c_str(), 0);  // a pipe, a link or a file of before
  constexpr int kNew = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
  const int file = ::openat(folder, path.c_str(), kNew, 0600);
  bool good = file >= 0;
  while (!data.empty() && good) {
    const ssize_t count = ::write(file, data.data(), data.size());
    good = count > 0;
    data.remove_prefix(good ? static_cast<std::size_t>(count) : 0);
  }
  good = good && ::fchmod(file, mode) == 0;
  if (file >= 0) {
    ::close(file);
  }
  return good ? Result<void>{}
              : Result<void>{Error::internal(fmt::format("cannot write {}", path))};
}

}  // namespace

Result<void> write_new_file(const std::string& path, std::string_view data, unsigned mode) {
  return write_new_file_in(AT_FDCWD, path, data, mode);
}

Result<void> write_new_file_below(const std::string& root, std::string_view path,
                                  std::string_view data, unsigned mode) {
  const std::size_t slash = path.rfind('/');
  const bool inner = slash != std::string_view::npos;
  const Descriptor folder = real_folder_below(root, inner ? path.substr(0, slash) : "");
  if (!folder.valid()) {
    return Error::internal(fmt::format("cannot write {}/{}", root, path));
  }
  return write_new_file_in(folder.get(), std::string(inner ? path.substr(slash + 1) : path), data,
                           mode);
}

Result<void> make_folder_below(const std::string& root, std::string_view path) {
  return real_folder_below(root, path).valid()
             ? Result<void>{}
             : Result<void>{Error::internal(fmt::format("cannot make {}/{}", root, path))};
}

}  // namespace athanor::nodes
