// SPDX-License-Identifier: Apache-2.0
// Folders, bind mounts and the table of mounts.
#include "embedded/nodes/process/view/mount_calls.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <utility>

namespace athanor::nodes {
namespace {

std::string read_whole(const char* path) {
  std::string text;
  const int file = ::open(path, O_RDONLY | O_CLOEXEC);
  char chunk[16384];
  for (ssize_t count = 1; file >= 0 && count > 0;) {
    count = ::read(file, chunk, sizeof chunk);
    text.append(chunk, static_cast<std::size_t>(std::max<ssize_t>(0, count)));
  }
  if (file >= 0) {
    ::close(file);
  }
  return text;
}

// The kernel writes blanks and backslashes of paths as three octal digits.
std::string unescaped(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 3 < text.size()) {
      result += static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 +
                                  (text[i + 3] - '0'));
      i += 3;
    } else {
      result += text[i];
    }
  }
  return result;
}

// struct mount_attr of the kernel, which not every C library has.
struct MountAttributes {
  std::uint64_t set = 0;
  std::uint64_t clear = 0;
  std::uint64_t propagation = 0;
  std::uint64_t user_namespace = 0;
};

// The word at `index` of a line.
std::string_view word_of(std::string_view line, int index) {
  for (; index > 0; --index) {
    line.remove_prefix(std::min(line.find(' ') + 1, line.size()));
  }
  return line.substr(0, line.find(' '));
}

}  // namespace

std::string mount_failure(const char* what, const std::string& path) {
  return fmt::format("{} {}: {}", what, path,
                     std::strerror(errno));  // NOLINT(concurrency-mt-unsafe): one thread
}

bool is_folder(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

bool is_below(std::string_view path, std::string_view folder) {
  return path == folder || folder == "/" ||
         (path.size() > folder.size() && path.starts_with(folder) && path[folder.size()] == '/');
}

std::string parent_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == 0 ? "/" : path.substr(0, slash);
}

std::string resolve_path(const std::string& wanted) {
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

std::string resolve_within(const std::string& root, const std::string& path) {
  constexpr int kMostLinks = 40;
  std::string resolved;  // without links
  std::string rest = std::filesystem::path("/" + path).lexically_normal().string();
  for (int links = 0; !rest.empty();) {
    rest.erase(0, rest.find_first_not_of('/') == std::string::npos ? rest.size()
                                                                   : rest.find_first_not_of('/'));
    const std::string name = rest.substr(0, rest.find('/'));
    rest.erase(0, name.size());
    if (name.empty() || name == ".") {
      continue;
    }
    if (name == "..") {
      resolved.erase(std::min(resolved.rfind('/'), resolved.size()));
      continue;
    }
    std::string next = resolved;
    next += '/';
    next += name;
    char target[PATH_MAX];
    const ssize_t size = ::readlink((root + next).c_str(), target, sizeof target);
    if (size <= 0 || links >= kMostLinks) {
      resolved = next;
      continue;
    }
    ++links;
    const std::string_view leads(target, static_cast<std::size_t>(size));
    rest.insert(0, 1, '/').insert(0, leads);
    if (leads.starts_with('/')) {
      resolved.clear();
    }
  }
  return resolved.empty() ? "/" : resolved;
}

std::string make_folders_to(const std::string& path) {
  for (std::size_t slash = path.find('/', 1); slash != std::string::npos;
       slash = path.find('/', slash + 1)) {
    ::mkdir(path.substr(0, slash).c_str(), 0755);
  }
  if (::mkdir(path.c_str(), 0755) != 0 && errno != EEXIST) {
    return mount_failure("make", path);
  }
  return {};
}

std::string make_mount_point(const std::string& from, const std::string& target) {
  if (is_folder(from)) {
    return make_folders_to(target);
  }
  if (std::string problem = make_folders_to(parent_of(target)); !problem.empty()) {
    return problem;
  }
  const int file = ::open(target.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  if (file >= 0) {
    ::close(file);
  }
  return {};  // where it is not there the mount fails, and says so
}

std::string bind_path(const std::string& from, const std::string& target) {
  return ::mount(from.c_str(), target.c_str(), nullptr, MS_BIND | MS_REC, nullptr) == 0
             ? std::string{}
             : mount_failure("bind", from);
}

namespace {

// Adds flags to the one mount at `target`.
bool add_flags(const std::string& target, unsigned long added) {
  struct statvfs flags {};
  ::statvfs(target.c_str(), &flags);
  unsigned long all = MS_BIND | MS_REMOUNT | added;
  constexpr std::pair<unsigned long, unsigned long> kFlags[] = {
      {ST_RDONLY, MS_RDONLY}, {ST_NOSUID, MS_NOSUID}, {ST_NODEV, MS_NODEV}, {ST_NOEXEC, MS_NOEXEC}};
  for (const auto& [has, keep] : kFlags) {
    all |= (flags.f_flag & has) != 0 ? keep : 0UL;
  }
  return ::mount(nullptr, target.c_str(), nullptr, all, nullptr) == 0;
}

}  // namespace

std::string make_read_only(const std::string& target) {
  return add_flags(target, MS_RDONLY) ? std::string{} : mount_failure("make read-only", target);
}

std::string make_without_devices(const std::string& target) {
  return add_flags(target, MS_NODEV) ? std::string{} : mount_failure("take devices from", target);
}

std::string make_all_read_only(const std::string& target) {
#ifdef SYS_mount_setattr
  constexpr std::uint64_t kReadOnly = 1;   // MOUNT_ATTR_RDONLY
  constexpr unsigned kRecursive = 0x8000;  // AT_RECURSIVE
  MountAttributes attributes{.set = kReadOnly};
  if (::syscall(SYS_mount_setattr, -1, target.c_str(), kRecursive, &attributes,
                sizeof attributes) == 0) {
    return {};
  }
#endif
  return make_read_only(target);
}

std::string cover_folder(const std::string& target) {
  if (!is_folder(target)) {
    return {};
  }
  constexpr unsigned long kFlags = MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC;
  return ::mount("tmpfs", target.c_str(), "tmpfs", kFlags, "size=4k,mode=0555") == 0
             ? std::string{}
             : mount_failure("hide", target);
}

std::vector<std::string> mount_points_of(std::string_view mountinfo) {
  constexpr int kMountPoint = 4;
  std::vector<std::string> points;
  while (!mountinfo.empty()) {
    const std::string_view line = mountinfo.substr(0, mountinfo.find('\n'));
    mountinfo.remove_prefix(std::min(line.size() + 1, mountinfo.size()));
    if (std::string point = unescaped(word_of(line, kMountPoint)); point.starts_with('/')) {
      points.push_back(std::move(point));
    }
  }
  std::ranges::sort(points);
  const auto doubled = std::ranges::unique(points);
  points.erase(doubled.begin(), doubled.end());
  return points;
}

std::vector<std::string> own_mount_points() {
  return mount_points_of(read_whole("/proc/self/mountinfo"));
}

void copy_link(const std::string& path, const std::string& target) {
  char link[PATH_MAX];
  const ssize_t size = ::readlink(path.c_str(), link, sizeof link - 1);
  if (size > 0) {
    link[size] = '\0';
    static_cast<void>(::symlink(link, target.c_str()));
  }
}

}  // namespace athanor::nodes
