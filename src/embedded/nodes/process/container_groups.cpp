// SPDX-License-Identifier: Apache-2.0
#include "embedded/nodes/process/container_groups.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <sstream>
#include <system_error>
#include <vector>

#include "base/files/descriptor.hpp"
#include "base/files/folder.hpp"
#include "base/files/text_file.hpp"

namespace athanor::nodes {
namespace {

constexpr const char* kOwnGroup = "/athanor";  // of the lab's processes
constexpr std::string_view kPrefix = "container-";
constexpr std::string_view kPodPrefix = "pod-";
constexpr const char* kControllers = "+cpu +memory";
constexpr std::int64_t kPeriod = 100'000;  // microseconds, as a kubelet's
constexpr std::int64_t kLeastQuota = 1'000;
constexpr const char* kWayOut = "start the lab with `systemd-run --user --scope -p Delegate=yes`";

std::vector<std::string> spaced_words(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) {
    words.push_back(std::move(word));
  }
  return words;
}

// The kernel takes each value in one write, and refuses it there.
Result<void> write_setting(const std::string& path, const std::string& value) {
  const Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
  if (file.get() < 0 || ::write(file.get(), value.data(), value.size()) < 0) {
    return Error::bad_request(fmt::format("{}: {}", path, std::generic_category().message(errno)));
  }
  return {};
}

struct TreeMount {
  std::string root{};  // which part of the tree is mounted
  std::string folder{};
};

Result<TreeMount> cgroup_mount(const std::string& file) {
  constexpr std::size_t kRoot = 3;
  constexpr std::size_t kFolder = 4;
  ATHANOR_TRY(const std::string text, read_whole_file(file));
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::vector<std::string> words = spaced_words(line);
    const auto dash = std::ranges::find(words, "-");
    if (words.end() - dash > 1 && dash[1] == "cgroup2" && dash - words.begin() > 4) {
      return TreeMount{.root = words[kRoot], .folder = words[kFolder]};
    }
  }
  return Error::not_found("this machine has no cgroup v2");
}

// The folder of this program's own group.
Result<std::string> own_group_folder(const GroupPlaces& places) {
  ATHANOR_TRY(const TreeMount mount, cgroup_mount(places.mounts));
  ATHANOR_TRY(const std::string text, read_whole_file(places.own));
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("0::/")) {
      std::string path = line.substr(3);
      if (mount.root != "/" && path.starts_with(mount.root)) {
        path.erase(0, mount.root.size());
      }
      return mount.folder + (path == "/" ? "" : path);
    }
  }
  return Error::not_found("this program is in no cgroup v2");
}

bool is_own_process(const std::string& pid) {
  const std::string self = std::to_string(::getpid());
  if (pid == self) {
    return true;
  }
  const auto text = read_whole_file(fmt::format("/proc/{}/status", pid));
  const std::vector<std::string> words = spaced_words(text.ok() ? *text : "");
  const auto parent = std::ranges::find(words, "PPid:");
  return words.end() - parent > 1 && parent[1] == self;
}

Result<void> check_controllers(const std::string& folder) {
  ATHANOR_TRY(const std::string text, read_whole_file(folder + "/cgroup.controllers"));
  const std::vector<std::string> known = spaced_words(text);
  for (const char* one : {"cpu", "memory"}) {
    if (std::ranges::find(known, one) == known.end()) {
      return Error::bad_request(
          fmt::format("cgroup {} lacks the controller {}: {}", folder, one, kWayOut));
    }
  }
  if (::access((folder + "/cgroup.subtree_control").c_str(), W_OK) != 0) {
    return Error::bad_request(fmt::format("cgroup {} is another user's: {}", folder, kWayOut));
  }
  return {};
}

// Groups that a lab which was killed has left.
void remove_old_groups(const std::string& folder) {
  for (const std::string& name : names_in_folder(folder)) {
    const std::string path = fmt::format("{}/{}", folder, name);
    if (name.starts_with(kPrefix)) {
      ContainerGroups::remove(path);
    } else if (name.starts_with(kPodPrefix)) {
      for (const std::string& below : names_in_folder(path)) {
        if (below.starts_with(kPrefix)) {
          ContainerGroups::remove(fmt::format("{}/{}", path, below));
        }
      }
      ContainerGroups::remove(path);
    }
  }
}

Result<void> make_group(const std::string& folder) {
  if (::mkdir(folder.c_str(), 0755) != 0 && errno != EEXIST) {
    return Error::internal(fmt::format("{}: {}", folder, std::generic_category().message(errno)));
  }
  const std::string swap = folder + "/memory.swap.max";
  return ::access(swap.c_str(), W_OK) == 0 ? write_setting(swap, "0") : Result<void>();
}

}  // namespace

Result<ContainerGroups> ContainerGroups::claim(const GroupPlaces& places) {
  ATHANOR_TRY(const std::string folder, own_group_folder(places));
  ATHANOR_TRY_VOID(check_controllers(folder));
  ATHANOR_TRY(const std::string text, read_whole_file(folder + "/cgroup.procs"));
  const std::vector<std::string> pids = spaced_words(text);
  // A group with processes may not have limited groups below it.
  if (!std::ranges::all_of(pids, is_own_process)) {
    return Error::conflict(fmt::format("other programs are in cgroup {}: {}", folder, kWayOut));
  }
  const std::string own = folder + kOwnGroup;
  if (::mkdir(own.c_str(), 0755) != 0 && errno != EEXIST) {
    return Error::bad_request(fmt::format("{}: {}", own, std::generic_category().message(errno)));
  }
  for (const std::string& pid : pids) {
    ATHANOR_TRY_VOID(write_setting(own + "/cgroup.procs", pid));
  }
  if (auto on = write_setting(folder + "/cgroup.subtree_control", kControllers); !on.ok()) {
    for (const std::string& pid : pids) {
      static_cast<void>(write_setting(folder + "/cgroup.procs", pid));
    }
    return on.error();
  }
  remove_old_groups(folder);
  return ContainerGroups(folder);
}

Result<std::string> ContainerGroups::make_pod(const std::string& uid,
                                              const GroupLimits& limits) const {
  std::string folder = fmt::format("{}/{}{}", folder_, kPodPrefix, uid);
  ATHANOR_TRY_VOID(make_group(folder));
  ATHANOR_TRY_VOID(write_setting(folder + "/cgroup.subtree_control", kControllers));
  ATHANOR_TRY_VOID(limit(folder, limits));
  return folder;
}

Result<std::string> ContainerGroups::make(const std::string& pod, const std::string& name,
                                          const GroupLimits& limits) const {
  std::string folder = fmt::format("{}/{}{}", pod.empty() ? folder_ : pod, kPrefix, name);
  ATHANOR_TRY_VOID(make_group(folder));
  // All of a container ends with the process that is killed, as with a kubelet.
  ATHANOR_TRY_VOID(write_setting(folder + "/memory.oom.group", "1"));
  ATHANOR_TRY_VOID(limit(folder, limits));
  return folder;
}

Result<void> ContainerGroups::limit(const std::string& folder, const GroupLimits& limits) {
  constexpr std::int64_t kMillis = 1000;
  ATHANOR_TRY_VOID(write_setting(
      folder + "/memory.max", limits.memory_bytes ? std::to_string(*limits.memory_bytes) : "max"));
  return write_setting(
      folder + "/cpu.max",
      limits.cpu_millis
          ? fmt::format("{} {}", std::max(*limits.cpu_millis * kPeriod / kMillis, kLeastQuota),
                        kPeriod)
          : fmt::format("max {}", kPeriod));
}

bool ContainerGroups::ran_out_of_memory(const std::string& folder) {
  const auto text = read_whole_file(folder + "/memory.events");
  const std::vector<std::string> words = spaced_words(text.ok() ? *text : "");
  const auto kills = std::ranges::find(words, "oom_kill");
  return words.end() - kills > 1 && kills[1] != "0";
}

void ContainerGroups::remove(const std::string& folder) {
  ::rmdir(folder.c_str());
  // The pod's goes with the last of its containers.
  const std::string above = folder.substr(0, folder.rfind('/'));
  if (above.substr(above.rfind('/') + 1).starts_with(kPodPrefix)) {
    ::rmdir(above.c_str());
  }
}

bool enter_group(const std::string& folder) {
  return folder.empty() || write_setting(folder + "/cgroup.procs", "0").ok();
}

}  // namespace athanor::nodes
