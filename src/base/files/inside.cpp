// SPDX-License-Identifier: Apache-2.0
#include "base/files/inside.hpp"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace athanor {
namespace {

constexpr int kFolder = O_PATH | O_DIRECTORY | O_CLOEXEC;

std::uint64_t resolution_of(Links links) {
  switch (links) {
    case Links::InRoot:
      return RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
    case Links::Beneath:
      return RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
    case Links::Refused:
      return RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  }
  return RESOLVE_BENEATH;
}

}  // namespace

Descriptor open_inside(int folder, const std::string& path, int flags, Links links) {
  open_how how{};
  how.flags = static_cast<std::uint64_t>(flags | O_CLOEXEC);
  how.resolve = resolution_of(links);
  // A rename meanwhile makes the kernel unsure, and it says so.
  constexpr int kTries = 100;
  int file = -1;
  for (int i = 0; i < kTries && file < 0; ++i) {
    file = static_cast<int>(
        ::syscall(SYS_openat2, folder, path.empty() ? "." : path.c_str(), &how, sizeof how));
    if (file < 0 && errno != EAGAIN && errno != EINTR) {
      break;
    }
  }
  return Descriptor(file);
}

Descriptor make_folder_inside(int folder, const std::string& path, unsigned mode, Links links) {
  Descriptor whole = open_inside(folder, path, kFolder, links);
  if (whole.valid()) {
    return whole;
  }
  Descriptor parent = open_inside(folder, "", kFolder, links);
  std::string_view rest = path;
  std::string so_far;
  while (parent.valid() && !rest.empty()) {
    const std::string name(rest.substr(0, rest.find('/')));
    rest.remove_prefix(std::min(rest.size(), name.size() + 1));
    if (name.empty()) {
      continue;
    }
    so_far += (so_far.empty() ? "" : "/") + name;
    Descriptor next = open_inside(folder, so_far, kFolder, links);
    if (!next.valid() && errno == ENOENT) {
      const bool made = ::mkdirat(parent.get(), name.c_str(), 0700) == 0;
      if (made || errno == EEXIST) {  // another process may make it meanwhile
        next = open_inside(folder, so_far, kFolder, links);
      }
      if (made && next.valid()) {
        static_cast<void>(::chmod(path_of_open(next.get()).c_str(), mode));
      }
    }
    parent = std::move(next);
  }
  return parent;
}

std::string path_of_open(int file) {
  return "/proc/self/fd/" + std::to_string(file);
}

}  // namespace athanor
