// SPDX-License-Identifier: Apache-2.0
// Building the view. Folders that need new entries are rebuilt on the tmpfs ("opened"), everything
// else is bound whole.
#include "embedded/nodes/process/private_root.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <set>
#include <utility>

namespace athanor::nodes {
namespace {

std::string failure(const char* what, const std::string& path) {
  return fmt::format("{} {}: {}", what, path,
                     std::strerror(errno));  // NOLINT(concurrency-mt-unsafe): one thread
}

bool write_file(const char* path, const std::string& text) {
  const int file = ::open(path, O_WRONLY | O_CLOEXEC);
  if (file < 0) {
    return false;
  }
  const bool written = ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  ::close(file);
  return written;
}

std::string map_ids(const Ids& ids) {
  const auto [uid, gid] = ids;
  write_file("/proc/self/setgroups", "deny");
  if (!write_file("/proc/self/uid_map", fmt::format("{} {} 1", uid, uid)) ||
      !write_file("/proc/self/gid_map", fmt::format("{} {} 1", gid, gid))) {
    return failure("map", "user and group ids");
  }
  return {};
}

std::string make_private() {
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) {
    return failure("make private", "/");
  }
  return {};
}

std::string new_namespaces() {
  const Ids ids = own_ids();
  if (ids.user == 0) {
    if (::unshare(CLONE_NEWNS) != 0) {
      return failure("unshare", "mount namespace");
    }
    return make_private();
  }
  if (::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) {
    return failure("unshare",
                   "user and mount namespace (are unprivileged user namespaces allowed?)");
  }
  std::string problem = map_ids(ids);
  return problem.empty() ? make_private() : problem;
}

// Symbolic links of the host on the way (/var/run) resolved, as far as the path exists. Without
// ".." parts, which would lead out of the view while it is built.
std::string resolve(const std::string& wanted) {
  std::string path = std::filesystem::path(wanted).lexically_normal().string();
  while (path.size() > 1 && path.back() == '/') {
    path.pop_back();
  }
  std::string existing = path;
  std::string rest;
  while (existing.size() > 1) {
    char resolved[PATH_MAX];
    if (::realpath(existing.c_str(), resolved) != nullptr) {
      return std::string(resolved) + rest;
    }
    const std::size_t slash = existing.rfind('/');
    rest.insert(0, existing, slash);
    existing = slash == 0 ? "/" : existing.substr(0, slash);
  }
  return path;
}

std::string parent_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == 0 ? "/" : path.substr(0, slash);
}

bool is_folder(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

class RootBuilder {
 public:
  explicit RootBuilder(const View& view)
      : root_(view.scratch), own_proc_(view.made_by.has_value()) {
    opened_.insert("/");
    for (const Mount& mount : view.mounts) {
      make_path_to(mount.to);
    }
    make_path_to(view.working_folder);
  }

  // Fills an opened folder with what the host has there.
  std::string fill(const std::string& folder) {
    DIR* entries = ::opendir(folder.c_str());
    if (entries == nullptr) {
      return failure("read", folder);
    }
    std::vector<std::string> paths;
    while (const dirent* entry = ::readdir(entries)) {  // NOLINT(concurrency-mt-unsafe): one thread
      const std::string name = entry->d_name;
      if (name != "." && name != "..") {
        paths.push_back(fmt::format("{}/{}", folder == "/" ? "" : folder, name));
      }
    }
    // What holds the view itself first, while it is empty: it is bound with all that is in it.
    std::ranges::stable_partition(paths,
                                  [this](const std::string& path) { return holds_root(path); });
    std::string problem;
    for (const std::string& path : paths) {
      problem = add(path);
      if (!problem.empty()) {
        break;
      }
    }
    ::closedir(entries);
    return problem;
  }

 private:
  // The first folder on the way that the host lacks must be made, so every one above it is opened.
  void make_path_to(const std::string& folder) {
    std::string path = folder;
    while (path != "/" && !is_folder(path)) {
      path = parent_of(path);
    }
    if (path == folder) {
      return;
    }
    for (; path != "/"; path = parent_of(path)) {
      opened_.insert(path);
    }
  }

  std::string add(const std::string& path) {
    const std::string target = root_ + path;
    struct stat status {};
    if (::lstat(path.c_str(), &status) != 0 || path == root_) {
      return {};  // gone meanwhile, or the view itself
    }
    if (S_ISLNK(status.st_mode)) {
      char link[PATH_MAX];
      const ssize_t size = ::readlink(path.c_str(), link, sizeof link - 1);
      if (size > 0) {
        link[size] = '\0';
        static_cast<void>(::symlink(link, target.c_str()));
      }
      return {};
    }
    if (S_ISDIR(status.st_mode)) {
      if (::mkdir(target.c_str(), 0755) != 0) {
        return failure("make", target);
      }
      if (own_proc_ && path == "/proc") {
        return {};
      }
      if (opened_.contains(path)) {
        return fill(path);
      }
    } else {
      const int file = ::open(target.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
      if (file < 0) {
        return failure("make", target);
      }
      ::close(file);
    }
    if (::mount(path.c_str(), target.c_str(), nullptr, MS_BIND | MS_REC, nullptr) != 0) {
      // A folder this user may not enter stays empty, as it would be unreadable anyway.
      return errno == EACCES || errno == EPERM ? std::string{} : failure("bind", path);
    }
    if (holds_root(path)) {
      ::umount2((root_ + root_).c_str(), MNT_DETACH);  // the view is not to be seen in itself
    }
    return {};
  }

  [[nodiscard]] bool holds_root(const std::string& path) const {
    return root_.starts_with(path + "/");
  }

  std::string root_;
  bool own_proc_;
  std::set<std::string> opened_{};
};

std::string make_folders(const std::string& path) {
  for (std::size_t slash = path.find('/', 1); slash != std::string::npos;
       slash = path.find('/', slash + 1)) {
    ::mkdir(path.substr(0, slash).c_str(), 0755);
  }
  if (::mkdir(path.c_str(), 0755) != 0 && errno != EEXIST) {
    return failure("make", path);
  }
  return {};
}

std::string bind_mount(const std::string& root, const Mount& mount) {
  const std::string target = root + mount.to;
  if (is_folder(mount.from)) {
    if (std::string problem = make_folders(target); !problem.empty()) {
      return problem;
    }
  } else {
    if (std::string problem = make_folders(parent_of(target)); !problem.empty()) {
      return problem;
    }
    const int file = ::open(target.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    if (file >= 0) {
      ::close(file);
    }
  }
  if (::mount(mount.from.c_str(), target.c_str(), nullptr, MS_BIND | MS_REC, nullptr) != 0) {
    return failure("bind", mount.from);
  }
  if (mount.read_only) {
    struct statvfs flags {};
    ::statvfs(target.c_str(), &flags);
    unsigned long kept = MS_BIND | MS_REMOUNT | MS_RDONLY;
    constexpr std::pair<unsigned long, unsigned long> kFlags[] = {
        {ST_NOSUID, MS_NOSUID}, {ST_NODEV, MS_NODEV}, {ST_NOEXEC, MS_NOEXEC}};
    for (const auto& [has, keep] : kFlags) {
      kept |= (flags.f_flag & has) != 0 ? keep : 0UL;
    }
    if (::mount(nullptr, target.c_str(), nullptr, kept, nullptr) != 0) {
      return failure("make read-only", mount.to);
    }
  }
  return {};
}

// Nothing of the folder is seen, and nothing can be put there.
std::string hide(const std::string& root, const std::string& folder) {
  const std::string target = root + folder;
  if (folder.empty() || folder == "/" || !is_folder(target)) {
    return {};
  }
  constexpr unsigned long kFlags = MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC;
  return ::mount("tmpfs", target.c_str(), "tmpfs", kFlags, "size=4k,mode=0555") == 0
             ? std::string{}
             : failure("hide", folder);
}

std::string mount_proc(const std::string& root) {
  const std::string target = root + "/proc";
  constexpr unsigned long kFlags = MS_NOSUID | MS_NODEV | MS_NOEXEC;
  return ::mount("proc", target.c_str(), "proc", kFlags, nullptr) == 0 ? std::string{}
                                                                       : failure("mount", "/proc");
}

// The host's tree goes out of reach, where the kernel can exchange the root.
std::string change_root(const std::string& root, bool own_pids) {
  if (own_pids && ::chdir(root.c_str()) == 0 && ::syscall(SYS_pivot_root, ".", ".") == 0) {
    return ::umount2(".", MNT_DETACH) == 0 && ::chdir("/") == 0 ? std::string{}
                                                                : failure("leave", "the host's /");
  }
  return ::chroot(root.c_str()) == 0 && ::chdir("/") == 0 ? std::string{} : failure("enter", root);
}

}  // namespace

Ids own_ids() {
  return {.user = ::geteuid(), .group = ::getegid()};
}

std::string enter_made_namespaces(const Ids& ids) {
  if (ids.user != 0) {
    if (std::string problem = map_ids(ids); !problem.empty()) {
      return problem;
    }
  }
  return make_private();
}

std::string enter_private_root(View view) {
  if (std::string problem = view.made_by ? enter_made_namespaces(*view.made_by) : new_namespaces();
      !problem.empty()) {
    return problem;
  }
  for (Mount& mount : view.mounts) {
    mount.to = resolve(mount.to);
  }
  view.working_folder = view.working_folder.empty() ? "/" : resolve(view.working_folder);
  // Outer mounts before the ones inside them.
  std::ranges::stable_sort(view.mounts, {},
                           [](const Mount& mount) { return std::ranges::count(mount.to, '/'); });
  if (::mount("tmpfs", view.scratch.c_str(), "tmpfs", 0, "mode=0755") != 0) {
    return failure("mount tmpfs on", view.scratch);
  }
  std::string problem = RootBuilder(view).fill("/");
  if (problem.empty() && view.made_by) {
    problem = mount_proc(view.scratch);
  }
  if (problem.empty()) {
    problem = hide(view.scratch, view.hidden);
  }
  for (const Mount& mount : view.mounts) {
    if (problem.empty()) {
      problem = bind_mount(view.scratch, mount);
    }
  }
  const std::string folder = view.scratch + view.working_folder;
  if (problem.empty() && view.working_folder != "/" && !is_folder(folder)) {
    problem = make_folders(folder);
  }
  return problem.empty() ? change_root(view.scratch, view.made_by.has_value()) : problem;
}

}  // namespace athanor::nodes
