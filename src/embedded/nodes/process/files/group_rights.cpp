// SPDX-License-Identifier: Apache-2.0
// Names are looked up once, to a descriptor; owner and mode are changed by it. A container that
// shares a volume may replace a file by a link to one of the host at any moment.
#include "embedded/nodes/process/files/group_rights.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string_view>

namespace athanor::nodes {
namespace {

constexpr int kDeepestGift = 400;  // one open folder each

class Gift {
 public:
  Gift(unsigned group, GroupRights rights)
      : group_(group),
        file_(rights == GroupRights::Read ? 0440 : 0660),
        folder_(rights == GroupRights::Read ? 02550 : 02770) {}

  // NOLINTNEXTLINE(misc-no-recursion): bounded by kDeepestGift
  void give(int parent, const char* name, int depth) const {
    const int entry = ::openat(parent, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    struct stat status {};
    if (entry < 0 || ::fstat(entry, &status) != 0) {
      return close_if_open(entry);
    }
    static_cast<void>(::fchownat(entry, "", static_cast<uid_t>(-1), group_, AT_EMPTY_PATH));
    if (S_ISLNK(status.st_mode)) {
      return close_if_open(entry);
    }
    const bool is_folder = S_ISDIR(status.st_mode);
    // fchmod() takes no descriptor of this type; this link leads to the file itself.
    static_cast<void>(::chmod(fmt::format("/proc/self/fd/{}", entry).c_str(),
                              (status.st_mode & 07777) | (is_folder ? folder_ : file_)));
    const int inner = is_folder && depth < kDeepestGift
                          ? ::openat(entry, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
                          : -1;
    ::close(entry);
    if (inner >= 0) {
      give_entries(inner, depth + 1);
    }
  }

 private:
  static void close_if_open(int file) {
    if (file >= 0) {
      ::close(file);
    }
  }

  // Takes the descriptor.
  // NOLINTNEXTLINE(misc-no-recursion): bounded by kDeepestGift
  void give_entries(int folder, int depth) const {
    DIR* entries = ::fdopendir(folder);
    if (entries == nullptr) {
      ::close(folder);
      return;
    }
    while (const dirent* entry = ::readdir(entries)) {  // NOLINT(concurrency-mt-unsafe): own stream
      const std::string_view name = entry->d_name;
      if (name != "." && name != "..") {
        give(folder, entry->d_name, depth);
      }
    }
    ::closedir(entries);
  }

  unsigned group_;
  mode_t file_;
  mode_t folder_;
};

}  // namespace

void give_to_group(const std::string& folder, unsigned group, GroupRights rights) {
  Gift(group, rights).give(AT_FDCWD, folder.c_str(), 0);
}

}  // namespace athanor::nodes
