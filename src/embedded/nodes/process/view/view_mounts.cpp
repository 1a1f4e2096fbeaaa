// SPDX-License-Identifier: Apache-2.0
#include "embedded/nodes/process/view/view_mounts.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <utility>

#include "base/files/descriptor.hpp"
#include "base/files/inside.hpp"
#include "embedded/nodes/process/view/mount_calls.hpp"

namespace athanor::nodes {
namespace {

constexpr unsigned kFolderRights = 0755;

// Of the kernel; not every C library has them.
constexpr unsigned kCloneTree = 1;              // OPEN_TREE_CLONE
constexpr unsigned kWholeTree = 0x8000;         // AT_RECURSIVE
constexpr unsigned kEmptyPath = 0x1000;         // AT_EMPTY_PATH
constexpr unsigned kBothAreOpen = 0x04 | 0x40;  // MOVE_MOUNT_F_EMPTY_PATH, MOVE_MOUNT_T_EMPTY_PATH

Descriptor open_root(const std::string& root) {
  return Descriptor(::open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
}

Descriptor make_file_inside(int root, const std::string& path) {
  Descriptor file = open_inside(root, path, O_PATH, Links::InRoot);
  if (file.valid() || errno != ENOENT) {
    return file;
  }
  const std::size_t slash = path.rfind('/');
  const Descriptor folder =
      make_folder_inside(root, path.substr(0, slash), kFolderRights, Links::InRoot);
  const Descriptor made(::openat(folder.get(), path.substr(slash + 1).c_str(),
                                 O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
  return made.valid() ? open_inside(root, path, O_PATH, Links::InRoot) : Descriptor();
}

Descriptor make_place(const std::string& root, const Mount& mount) {
  const Descriptor folder = open_root(root);
  return mount.is_folder ? make_folder_inside(folder.get(), mount.to, kFolderRights, Links::InRoot)
                         : make_file_inside(folder.get(), mount.to);
}

}  // namespace

std::string open_source(Mount& mount) {
  mount.source.reset(::open(mount.from.c_str(), O_PATH | O_CLOEXEC));
  struct stat status {};
  if (!mount.source.valid() || ::fstat(mount.source.get(), &status) != 0) {
    return mount_failure("open", mount.from);
  }
  if (!mount.below.empty()) {
    const int volume = mount.source.get();
    Descriptor inner = open_inside(volume, mount.below, O_PATH, Links::Beneath);
    if (!inner.valid() && errno == ENOENT) {
      inner = make_folder_inside(volume, mount.below, status.st_mode & 07777U, Links::Beneath);
    }
    if (!inner.valid() || ::fstat(inner.get(), &status) != 0) {
      return errno == EXDEV ? fmt::format("subPath {} leads out of its volume", mount.below)
                            : mount_failure("open subPath", mount.below);
    }
    mount.source = std::move(inner);
  }
  mount.is_folder = S_ISDIR(status.st_mode);
  return {};
}

std::string make_folder_in_view(const std::string& root, const std::string& path) {
  const Descriptor folder = open_root(root);
  return make_folder_inside(folder.get(), path, kFolderRights, Links::InRoot).valid()
             ? std::string{}
             : mount_failure("make", path);
}

std::string make_mount_place(const std::string& root, const Mount& mount) {
  return make_place(root, mount).valid() ? std::string{} : mount_failure("make", mount.to);
}

std::string add_mount(const std::string& root, const Mount& mount) {
  const Descriptor place = make_place(root, mount);
  if (!place.valid()) {
    return mount_failure("make", mount.to);
  }
  const Descriptor tree(static_cast<int>(::syscall(
      SYS_open_tree, mount.source.get(), "", kCloneTree | kWholeTree | kEmptyPath | O_CLOEXEC)));
  if (!tree.valid() ||
      ::syscall(SYS_move_mount, tree.get(), "", place.get(), "", kBothAreOpen) != 0) {
    return mount_failure("bind", mount.from);
  }
  const std::string joined = path_of_open(tree.get());
  // Root may make device files; nobody else may.
  std::string problem = ::geteuid() == 0 ? make_without_devices(joined) : std::string{};
  return problem.empty() && mount.read_only ? make_read_only(joined) : problem;
}

std::string place_in_view(const std::string& root, const std::string& path) {
  const Descriptor folder = open_root(root);
  const Descriptor place = make_folder_inside(folder.get(), path, kFolderRights, Links::InRoot);
  char found[PATH_MAX];
  const ssize_t size =
      place.valid() ? ::readlink(path_of_open(place.get()).c_str(), found, sizeof found) : 0;
  return size > 0 ? std::string(found, static_cast<std::size_t>(size)) : std::string{};
}

}  // namespace athanor::nodes
