// SPDX-License-Identifier: Apache-2.0
// Building the view. Folders that need new entries are rebuilt on the tmpfs ("opened"), everything
// else is bound whole.
#include "embedded/nodes/process/view/private_root.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <set>

#include "base/files/folder.hpp"
#include "embedded/nodes/process/view/container_devices.hpp"
#include "embedded/nodes/process/view/layered_root.hpp"
#include "embedded/nodes/process/view/mount_calls.hpp"
#include "embedded/nodes/process/view/own_pids.hpp"
#include "embedded/nodes/process/view/view_mounts.hpp"

namespace athanor::nodes {
namespace {

bool write_root_file(const char* path, const std::string& text) {
  const int file = ::open(path, O_WRONLY | O_CLOEXEC);
  if (file < 0) {
    return false;
  }
  const bool written = ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  ::close(file);
  return written;
}

std::string make_private() {
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) {
    return mount_failure("make private", "/");
  }
  return {};
}

std::string new_namespaces() {
  const Ids ids = own_ids();
  if (ids.user == 0) {
    if (::unshare(CLONE_NEWNS) != 0) {
      return mount_failure("unshare", "mount namespace");
    }
    return make_private();
  }
  if (::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) {
    return mount_failure("unshare",
                         "user and mount namespace (are unprivileged user namespaces allowed?)");
  }
  std::string problem = map_own_ids(ids);
  return problem.empty() ? make_private() : problem;
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
    const auto names = list_folder(folder);
    if (!names.ok()) {
      return names.error().message;
    }
    std::vector<std::string> paths;
    paths.reserve(names->size());
    for (const std::string& name : *names) {
      paths.push_back(fmt::format("{}/{}", folder == "/" ? "" : folder, name));
    }
    // What holds the view itself first, while it is empty: it is bound with all that is in it.
    std::ranges::stable_partition(paths,
                                  [this](const std::string& path) { return holds_root(path); });
    for (const std::string& path : paths) {
      if (std::string problem = add(path); !problem.empty()) {
        return problem;
      }
    }
    return {};
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
      copy_link(path, target);
      return {};
    }
    if (S_ISDIR(status.st_mode)) {
      if (::mkdir(target.c_str(), 0755) != 0) {
        return mount_failure("make", target);
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
        return mount_failure("make", target);
      }
      ::close(file);
    }
    if (::mount(path.c_str(), target.c_str(), nullptr, MS_BIND | MS_REC, nullptr) != 0) {
      // A folder this user may not enter stays empty, as it would be unreadable anyway.
      return errno == EACCES || errno == EPERM ? std::string{} : mount_failure("bind", path);
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

// The host's tree goes out of reach, where the kernel can exchange the root.
std::string change_root(const std::string& root, bool own_pids) {
  if (own_pids && ::chdir(root.c_str()) == 0 && ::syscall(SYS_pivot_root, ".", ".") == 0) {
    return ::umount2(".", MNT_DETACH) == 0 && ::chdir("/") == 0
               ? std::string{}
               : mount_failure("leave", "the host's /");
  }
  return ::chroot(root.c_str()) == 0 && ::chdir("/") == 0 ? std::string{}
                                                          : mount_failure("enter", root);
}

}  // namespace

Ids own_ids() {
  return {
      .user = ::geteuid(), .group = ::getegid(), .as_user = ::geteuid(), .as_group = ::getegid()};
}

std::string map_own_ids(const Ids& ids) {
  write_root_file("/proc/self/setgroups", "deny");
  if (!write_root_file("/proc/self/uid_map", fmt::format("{} {} 1", ids.as_user, ids.user)) ||
      !write_root_file("/proc/self/gid_map", fmt::format("{} {} 1", ids.as_group, ids.group))) {
    return mount_failure("map", "user and group ids");
  }
  return {};
}

std::string enter_made_namespaces(const Ids& ids) {
  if (ids.user != 0) {
    if (std::string problem = map_own_ids(ids); !problem.empty()) {
      return problem;
    }
  }
  return make_private();
}

namespace {

// A view without a layer: the host's folders, bound.
std::string build_bound_root(const View& view) {
  if (::mount("tmpfs", view.scratch.c_str(), "tmpfs", 0, "mode=0755") != 0) {
    return mount_failure("mount tmpfs on", view.scratch);
  }
  std::string problem = RootBuilder(view).fill("/");
  if (problem.empty() && view.made_by) {
    problem = mount_processes(view.scratch + "/proc");
  }
  for (const std::string& folder : view.own_folders) {
    if (problem.empty()) {
      problem = cover_folder(view.scratch + resolve_path(folder));
    }
  }
  return problem;
}

}  // namespace

std::string enter_view_namespaces(const View& view) {
  return view.made_by ? enter_made_namespaces(*view.made_by) : new_namespaces();
}

bool can_make_views() {
  static std::optional<bool> known;  // the spawner has one thread
  if (!known) {
    const int child = ::fork();
    if (child == 0) {
      ::_exit(new_namespaces().empty() ? 0 : 1);
    }
    if (child < 0) {
      return true;  // not known yet: what then fails ends its container
    }
    known = exit_code_of(child) == 0;
  }
  return *known;
}

std::string enter_private_root(View view) {
  if (view.made_by && !view.hostname.empty()) {
    static_cast<void>(::sethostname(view.hostname.data(), view.hostname.size()));
  }
  const auto resolved = [&](const std::string& path) {
    return view.image.empty() ? resolve_path(path) : resolve_within(view.image, path);
  };
  for (Mount& mount : view.mounts) {
    if (std::string problem = open_source(mount); !problem.empty()) {
      return problem;
    }
    mount.to = resolved(mount.to);
  }
  view.working_folder = view.working_folder.empty() ? "/" : resolved(view.working_folder);
  // Outer mounts before the ones inside them.
  std::ranges::stable_sort(view.mounts, {},
                           [](const Mount& mount) { return std::ranges::count(mount.to, '/'); });
  std::string problem = view.layer.empty() ? build_bound_root(view) : build_layered_root(view);
  if (problem.empty() && !view.hidden.empty() && view.hidden != "/") {
    problem = cover_folder(view.scratch + view.hidden);
  }
  for (const Mount& mount : view.mounts) {
    if (problem.empty()) {
      problem = add_mount(view.scratch, mount);
    }
  }
  if (problem.empty()) {
    problem = make_folder_in_view(view.scratch, view.working_folder);
  }
  return problem.empty() ? change_root(view.scratch, view.made_by.has_value()) : problem;
}

}  // namespace athanor::nodes
