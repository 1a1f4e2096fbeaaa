// SPDX-License-Identifier: Apache-2.0
// Overlays over the host's folders. A folder that cannot be a lower layer as a whole, because it
// holds mounts that this user may not look below, or the layer itself, is opened: rebuilt entry by
// entry.
#include "embedded/nodes/process/view/layered_root.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <map>
#include <string_view>
#include <vector>

#include "base/files/folder.hpp"
#include "embedded/nodes/process/view/container_devices.hpp"
#include "embedded/nodes/process/view/mount_calls.hpp"
#include "embedded/nodes/process/view/own_pids.hpp"
#include "embedded/nodes/process/view/view_mounts.hpp"

namespace athanor::nodes {
namespace {

// A host with more mounts than these shows the rest as empty folders.
constexpr std::size_t kMostMounts = 1000;
// Mounts of the host further down than this belong to other containers, as a rule.
constexpr std::ptrdiff_t kDeepestMount = 3;
// Written at run time: of no use to a container.
constexpr std::string_view kOwnFolders[] = {"/tmp", "/var/tmp", "/run", "/boot", "/lost+found"};
constexpr std::string_view kKernelFolders[] = {"/proc", "/sys", "/dev"};
// Root's keys of the machine; for others they are unreadable.
constexpr const char* kHostKeys = "/etc/ssh";

// A path in the options of an overlay, in which commas and colons separate.
std::string escaped(const std::string& path) {
  std::string result;
  for (const char letter : path) {
    if (letter == ',' || letter == ':' || letter == '\\') {
      result += '\\';
    }
    result += letter;
  }
  return result;
}

std::string mount_overlay(const std::string& lower, const std::string& upper,
                          const std::string& work, const std::string& target) {
  const std::string options = fmt::format("lowerdir={},upperdir={},workdir={},userxattr,volatile",
                                          escaped(lower), escaped(upper), escaped(work));
  return ::mount("overlay", target.c_str(), "overlay", MS_NODEV, options.c_str()) == 0
             ? std::string{}
             : mount_failure("overlay", lower);
}

// As `like`, where the user may make it so.
void copy_attributes(const struct stat& like, const std::string& path) {
  static_cast<void>(::chown(path.c_str(), like.st_uid, like.st_gid));
  static_cast<void>(::chmod(path.c_str(), like.st_mode & 07777));
}

class LayeredRoot {
 public:
  explicit LayeredRoot(const View& view) : view_(view), root_(view.scratch) {
    for (const std::string_view folder : kOwnFolders) {
      own_folders_.push_back(resolve_path(std::string(folder)));
    }
    for (const std::string& folder : view.own_folders) {
      own_folders_.push_back(resolve_path(folder));
    }
    for (const Mount& mount : view.mounts) {
      wanted_.push_back(mount.is_folder ? mount.to : parent_of(mount.to));
    }
    wanted_.push_back(view.working_folder);
    points_ = own_mount_points();
  }

  std::string build() {
    ::mkdir(root_.c_str(), 0755);
    std::string problem = bind_path(root_, root_);
    if (!problem.empty()) {
      return problem;
    }
    static_cast<void>(::mount(nullptr, root_.c_str(), nullptr, MS_BIND | MS_REMOUNT | MS_NODEV,
                              nullptr));  // in a user namespace no device can be made anyway
    mounted_.push_back(root_);
    problem = fill("/");
    const std::size_t seen = overlaid_.size();
    for (std::size_t i = 0; i < points_.size() && problem.empty(); ++i) {
      problem = add_mount_below(points_[i], seen);
    }
    if (problem.empty()) {
      problem = cover();
    }
    if (problem.empty()) {
      problem = add_resolver();
    }
    for (const Mount& mount : view_.mounts) {
      if (problem.empty()) {
        problem = make_mount_place(root_, mount);
      }
    }
    if (problem.empty()) {
      problem = make_folder_in_view(root_, view_.working_folder);
    }
    for (const std::string& mount : mounted_) {
      if (problem.empty() && view_.read_only) {
        problem = make_read_only(mount);
      }
    }
    return problem;
  }

 private:
  // Rebuilds a folder of the host entry by entry.
  std::string fill(const std::string& folder) {
    const auto names = list_folder(folder);
    if (!names.ok()) {
      return folder != "/" ? std::string{} : names.error().message;
    }
    for (const std::string& name : *names) {
      const std::string path = (folder == "/" ? "" : folder) + "/" + name;
      if (std::string problem = add(path); !problem.empty()) {
        return problem;
      }
    }
    return {};
  }

  std::string add(const std::string& path) {
    const std::string target = root_ + path;
    struct stat status {};
    if (::lstat(path.c_str(), &status) != 0) {
      return {};  // gone meanwhile
    }
    if (S_ISLNK(status.st_mode)) {
      copy_link(path, target);
      return {};
    }
    if (S_ISREG(status.st_mode)) {
      return add_file(path, target);
    }
    if (!S_ISDIR(status.st_mode)) {
      return {};  // sockets lead out of the container, devices too
    }
    if (::mkdir(target.c_str(), 0755) != 0 && errno != EEXIST) {
      return mount_failure("make", target);
    }
    copy_attributes(status, target);
    if (std::ranges::find(kKernelFolders, path) != std::end(kKernelFolders)) {
      return add_kernel_folder(path, target);
    }
    return is_own(path) ? std::string{} : add_folder(path, target, status);
  }

  // One that cannot be bound is missing.
  std::string add_file(const std::string& path, const std::string& target) {
    if (mounted_.size() < kMostMounts && make_mount_point(path, target).empty() &&
        bind_path(path, target).empty()) {
      return make_read_only(target);
    }
    return {};
  }

  std::string add_kernel_folder(const std::string& path, const std::string& target) {
    if (path == "/dev") {
      return mount_devices(target);
    }
    if (path == "/sys") {
      return mount_kernel_objects(target);
    }
    if (!view_.made_by) {
      return bind_path(path, target);  // without a PID namespace it is the host's
    }
    std::string problem = mount_processes(target);
    if (problem.empty() && ::geteuid() == 0) {
      protect_processes(target);
    }
    return problem;
  }

  std::string add_folder(const std::string& path, const std::string& target,
                         const struct stat& status) {
    if (is_below(root_, path) && !view_.layer_in_memory) {
      return fill(path);  // an overlay's layers must not hold one another
    }
    if (names_in_folder(path).empty()) {
      return {};  // empty, or closed to this user: so it is here
    }
    if (mounted_.size() >= kMostMounts) {
      return {};
    }
    if (overlay(path, target, status)) {
      return {};
    }
    if (has_mount_below(path)) {
      return fill(path);
    }
    // Of a kind that no overlay takes; one that cannot be bound either is empty.
    return bind_path(path, target).empty() ? make_all_read_only(target) : std::string{};
  }

  bool overlay(const std::string& path, const std::string& target, const struct stat& status) {
    const std::string upper = next_folder();
    const std::string work = upper + ".work";
    if (::mkdir(upper.c_str(), 0755) != 0 || ::mkdir(work.c_str(), 0755) != 0) {
      return false;
    }
    copy_attributes(status, upper);
    for (const std::string& wanted : wanted_) {
      if (wanted != path && is_below(wanted, path) && !is_folder(wanted)) {
        make_in_layer(upper, path, wanted);
      }
    }
    if (is_below(kHostKeys, path) && ::geteuid() == 0) {
      hide_host_keys(upper, path);
    }
    if (!mount_overlay(path, upper, work, target).empty()) {
      return false;
    }
    mounted_.push_back(target);
    overlaid_.push_back(path);
    return true;
  }

  // Folders of the host belong to users that a user namespace does not know, so that even its root
  // makes nothing in them: what is wanted there is in the layer from the start.
  static void make_in_layer(const std::string& upper, const std::string& path,
                            const std::string& wanted) {
    for (std::size_t at = path.size(); at != std::string::npos;) {
      at = wanted.find('/', at + 1);
      const std::string part = wanted.substr(0, at);
      const std::string in_layer = upper + part.substr(path.size());
      struct stat status {};
      const bool known = ::lstat(part.c_str(), &status) == 0;
      if (known && !S_ISDIR(status.st_mode)) {
        return;
      }
      if (::mkdir(in_layer.c_str(), 0755) == 0 && known) {
        copy_attributes(status, in_layer);
      }
    }
  }

  // By what an overlay takes for a removed file.
  static void hide_host_keys(const std::string& upper, const std::string& path) {
    const std::string layer = upper + (kHostKeys + path.size());
    for (const std::string& name : names_in_folder(kHostKeys)) {
      if (name.ends_with("_key")) {
        make_in_layer(upper, path, kHostKeys);
        static_cast<void>(::mknod(fmt::format("{}/{}", layer, name).c_str(), S_IFCHR, 0));
      }
    }
  }

  // A mount of the host below a folder that was laid over as a whole, where it is not seen.
  std::string add_mount_below(const std::string& point, std::size_t seen) {
    const auto end = overlaid_.begin() + static_cast<std::ptrdiff_t>(seen);
    const bool covered = std::any_of(overlaid_.begin(), end, [&](const std::string& path) {
      return point != path && is_below(point, path);
    });
    if (!covered || std::ranges::count(point, '/') > kDeepestMount || is_own(point) ||
        is_below(root_, point)) {
      return {};
    }
    const std::string target = root_ + point;
    struct stat status {};
    if (::stat(point.c_str(), &status) != 0) {
      return {};
    }
    if (S_ISREG(status.st_mode)) {
      return add_file(point, target);
    }
    return is_folder(target) ? add_folder(point, target, status) : std::string{};
  }

  // The folders of its own that lie in one of the host's.
  std::string cover() {
    for (const std::string& folder : own_folders_) {
      const bool inside = std::ranges::any_of(
          overlaid_, [&](const std::string& path) { return is_below(folder, path); });
      const std::string target = root_ + folder;
      struct stat status {};
      if (!inside || ::lstat(target.c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) {
        continue;
      }
      const std::string own = next_folder();
      if (::mkdir(own.c_str(), 0755) != 0) {
        return mount_failure("make", own);
      }
      copy_attributes(status, own);
      if (std::string problem = bind_path(own, target); !problem.empty()) {
        return problem;
      }
      mounted_.push_back(target);
    }
    if (!view_.hidden.empty()) {
      static_cast<void>(make_folders_to(root_ + view_.hidden));  // it is covered later
    }
    for (const std::string& folder : view_.own_folders) {  // one in another one is there, too
      struct stat status {};
      if (::stat(folder.c_str(), &status) == 0 && make_folders_to(root_ + folder).empty()) {
        copy_attributes(status, root_ + folder);
      }
    }
    return {};
  }

  // Names of hosts resolve as outside where the settings for that are a file of /run.
  std::string add_resolver() {
    const std::string settings = resolve_path("/etc/resolv.conf");
    if (!is_below(settings, "/run") || ::access(settings.c_str(), R_OK) != 0) {
      return {};
    }
    const std::string target = root_ + settings;
    std::string problem = make_mount_point(settings, target);
    if (problem.empty()) {
      problem = bind_path(settings, target);
    }
    return problem.empty() ? make_read_only(target) : problem;
  }

  // Returns an unused path of the layer.
  std::string next_folder() { return fmt::format("{}/{}", view_.layer, ++layers_); }

  [[nodiscard]] bool is_own(std::string_view path) const {
    return (!view_.hidden.empty() && is_below(path, view_.hidden)) ||
           std::ranges::any_of(own_folders_,
                               [&](const std::string& folder) { return is_below(path, folder); });
  }
  [[nodiscard]] bool has_mount_below(const std::string& path) const {
    return std::ranges::any_of(
        points_, [&](const std::string& point) { return point != path && is_below(point, path); });
  }

  const View& view_;
  std::string root_;
  std::vector<std::string> own_folders_{};
  std::vector<std::string> wanted_{};  // folders that must be there, in the view
  std::vector<std::string> points_{};  // mount points of the host
  int layers_ = 0;
  std::vector<std::string> mounted_{};   // mounts made here that a read-only root makes read-only
  std::vector<std::string> overlaid_{};  // folders of the host
};

// Exit codes of the child that tries.
constexpr int kNoNamespaces = 1;
constexpr int kNoOverlay = 2;

[[noreturn]] void try_layer_in_child(const Ids& ids, const std::string& folder, LayerPlace place) {
  if (!enter_made_namespaces(ids).empty()) {
    ::_exit(kNoNamespaces);
  }
  if (place == LayerPlace::Memory &&
      ::mount("tmpfs", folder.c_str(), "tmpfs", MS_NOSUID | MS_NODEV, nullptr) != 0) {
    ::_exit(kNoNamespaces);
  }
  for (const char* part : {"/upper", "/work", "/view"}) {
    ::mkdir((folder + part).c_str(), 0755);
  }
  // Without these attributes an overlay cannot hide what a folder held that was made anew.
  const bool attributes =
      ::setxattr((folder + "/upper").c_str(), "user.overlay.athanor", "y", 1, 0) == 0;
  const bool works =
      attributes &&
      mount_overlay("/usr", folder + "/upper", folder + "/work", folder + "/view").empty();
  ::_exit(works ? 0 : kNoOverlay);
}

}  // namespace

namespace {

// Mounts what an image's root needs of the machine: devices, processes, kernel objects.
std::string add_kernel_folders(const View& view) {
  std::map<std::string_view, std::string> places;
  for (const char* folder : {"/dev", "/proc", "/sys", "/tmp", "/run", "/etc"}) {
    places[folder] = place_in_view(view.scratch, folder);
    if (places[folder].empty()) {
      return mount_failure("make", folder);
    }
  }
  static_cast<void>(::chmod(places["/tmp"].c_str(), 01777));
  std::string problem = mount_devices(places["/dev"]);
  if (problem.empty()) {
    problem = mount_kernel_objects(places["/sys"]);
  }
  const std::string& processes = places["/proc"];
  if (problem.empty()) {
    problem = view.made_by ? mount_processes(processes) : bind_path("/proc", processes);
  }
  if (problem.empty() && view.made_by && ::geteuid() == 0) {
    protect_processes(processes);
  }
  return problem;
}

// Builds a root of an image's files, below a layer of the container.
std::string build_image_root(const View& view) {
  const std::string upper = view.layer + "/upper";
  const std::string work = view.layer + "/work";
  ::mkdir(view.scratch.c_str(), 0755);
  if (::mkdir(upper.c_str(), 0755) != 0 || ::mkdir(work.c_str(), 0755) != 0) {
    return mount_failure("make", upper);
  }
  std::string problem = mount_overlay(view.image, upper, work, view.scratch);
  if (problem.empty()) {
    problem = add_kernel_folders(view);
  }
  for (const Mount& mount : view.mounts) {
    if (problem.empty()) {
      problem = make_mount_place(view.scratch, mount);
    }
  }
  if (problem.empty()) {
    problem = make_folder_in_view(view.scratch, view.working_folder);
  }
  Mount resolver{.from = "/etc/resolv.conf",
                 .to = resolve_within(view.scratch, "/etc/resolv.conf")};
  const bool own =
      std::ranges::any_of(view.mounts, [&](const Mount& mount) { return mount.to == resolver.to; });
  if (problem.empty() && !own && ::access(resolver.from.c_str(), R_OK) == 0) {
    problem = open_source(resolver);
    problem = problem.empty() ? add_mount(view.scratch, resolver) : problem;
  }
  return problem.empty() && view.read_only ? make_read_only(view.scratch) : problem;
}

}  // namespace

std::string build_layered_root(const View& view) {
  if (view.layer_in_memory &&
      ::mount("tmpfs", view.layer.c_str(), "tmpfs", MS_NODEV, "mode=0755") != 0) {
    return mount_failure("mount tmpfs on", view.layer);
  }
  return view.image.empty() ? LayeredRoot(view).build() : build_image_root(view);
}

LayerSupport try_layers(const std::string& folder) {
  const Ids ids = own_ids();
  int code = 0;
  for (const LayerPlace place : {LayerPlace::Memory, LayerPlace::Disk}) {
    const auto made = make_unique_folder(folder + "/layer-");
    if (!made.ok()) {
      return {.missing = made.error().message};
    }
    const std::string& tried = *made;
    const int child = fork_into_own_pids();
    if (child == 0) {
      try_layer_in_child(ids, tried, place);
    }
    code = child < 0 ? kNoNamespaces : exit_code_of(child);
    for (const char* part : {"/work/work/incompat/volatile", "/work/work/incompat", "/work/work",
                             "/work/index", "/work", "/upper", "/view", ""}) {
      ::rmdir((tried + part).c_str());
    }
    if (code == 0) {
      return {.place = place};
    }
  }
  return {.missing = code == kNoNamespaces
                         ? "user, mount or PID namespaces are not allowed (sysctl "
                           "kernel.unprivileged_userns_clone, AppArmor)"
                         : "overlayfs cannot be mounted in a user namespace (Linux 5.11 or later)"};
}

}  // namespace athanor::nodes
