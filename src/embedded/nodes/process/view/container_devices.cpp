// SPDX-License-Identifier: Apache-2.0
// Devices of containers.
#include "embedded/nodes/process/view/container_devices.hpp"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>
#include <utility>

#include "base/files/folder.hpp"
#include "embedded/nodes/process/view/mount_calls.hpp"

namespace athanor::nodes {
namespace {

constexpr std::string_view kDevices[] = {"null",    "zero", "full", "random",
                                         "urandom", "tty",  "fuse"};
// Accelerators: a device or a folder of them whose name begins so.
constexpr std::string_view kAccelerators[] = {"nvidia", "kfd", "dri", "accel", "infiniband", "kvm"};
constexpr std::pair<const char*, const char*> kDeviceLinks[] = {{"/proc/self/fd", "fd"},
                                                                {"/proc/self/fd/0", "stdin"},
                                                                {"/proc/self/fd/1", "stdout"},
                                                                {"/proc/self/fd/2", "stderr"},
                                                                {"pts/ptmx", "ptmx"}};
constexpr const char* kReadOnlyOfProc[] = {"/sys", "/sysrq-trigger", "/irq", "/bus", "/fs"};
constexpr const char* kHiddenOfProc[] = {"/kcore", "/keys", "/timer_list", "/sched_debug"};

bool is_accelerator(std::string_view name) {
  for (const std::string_view start : kAccelerators) {
    if (name.starts_with(start)) {
      return true;
    }
  }
  return false;
}

// A device that is not there, or may not be bound, is missing in the view.
void bind_device(const std::string& folder, std::string_view name) {
  const std::string from = "/dev/" + std::string(name);
  const std::string target = folder + "/" + std::string(name);
  struct stat status {};
  if (::stat(from.c_str(), &status) == 0 && !S_ISBLK(status.st_mode)) {
    static_cast<void>(make_mount_point(from, target));
    static_cast<void>(bind_path(from, target));
  }
}

}  // namespace

std::string mount_devices(const std::string& target) {
  // Those of the host are bound into it; what a container makes beside them does not open.
  constexpr unsigned long kOwn = MS_NOSUID | MS_NODEV | MS_NOEXEC;
  if (::mount("tmpfs", target.c_str(), "tmpfs", kOwn, "size=64k,mode=0755") != 0) {
    return mount_failure("mount", "/dev");
  }
  for (const std::string_view name : kDevices) {
    bind_device(target, name);
  }
  for (const std::string& name : names_in_folder("/dev")) {
    if (is_accelerator(name)) {
      bind_device(target, name);
    }
  }
  for (const auto& [to, name] : kDeviceLinks) {
    static_cast<void>(::symlink(to, (target + "/" + name).c_str()));
  }
  const std::string shared = target + "/shm";
  ::mkdir(shared.c_str(), 01777);
  constexpr unsigned long kShared = MS_NOSUID | MS_NODEV | MS_NOEXEC;
  if (::mount("shm", shared.c_str(), "tmpfs", kShared, "mode=1777") != 0) {
    return mount_failure("mount", "/dev/shm");
  }
  const std::string terminals = target + "/pts";
  ::mkdir(terminals.c_str(), 0755);
  // Without them no program in the container can make a terminal; everything else works.
  static_cast<void>(::mount("devpts", terminals.c_str(), "devpts", MS_NOSUID | MS_NOEXEC,
                            "newinstance,ptmxmode=0666,mode=0620"));
  ::mkdir((target + "/mqueue").c_str(), 0755);
  return {};
}

std::string mount_processes(const std::string& target) {
  constexpr unsigned long kFlags = MS_NOSUID | MS_NODEV | MS_NOEXEC;
  return ::mount("proc", target.c_str(), "proc", kFlags, nullptr) == 0
             ? std::string{}
             : mount_failure("mount", "/proc");
}

void protect_processes(const std::string& target) {
  for (const char* path : kReadOnlyOfProc) {
    if (bind_path(target + path, target + path).empty()) {
      static_cast<void>(make_read_only(target + path));
    }
  }
  for (const char* path : kHiddenOfProc) {
    if (::access((target + path).c_str(), F_OK) == 0) {
      static_cast<void>(bind_path("/dev/null", target + path));
    }
  }
}

std::string mount_kernel_objects(const std::string& target) {
  std::string problem = bind_path("/sys", target);
  return problem.empty() ? make_all_read_only(target) : problem;
}

}  // namespace athanor::nodes
