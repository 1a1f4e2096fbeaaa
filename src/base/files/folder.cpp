// SPDX-License-Identifier: Apache-2.0
#include "base/files/folder.hpp"

#include <dirent.h>
#include <fmt/core.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

namespace athanor {
namespace {

Error unlisted(const std::string& path, int cause) {
  std::string message =
      fmt::format("cannot list {}: {}", path, std::generic_category().message(cause));
  return cause == ENOENT || cause == ENOTDIR ? Error::not_found(std::move(message))
                                             : Error::bad_request(std::move(message));
}

bool is_real_folder(const std::string& path) {
  struct stat status {};
  return ::lstat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

}  // namespace

Result<std::string> make_unique_folder(const std::string& prefix) {
  std::string path = prefix + "XXXXXX";
  if (::mkdtemp(path.data()) == nullptr) {
    return Error::internal(fmt::format("cannot make a folder {}...: {}", prefix,
                                       std::generic_category().message(errno)));
  }
  return path;
}

Result<std::vector<std::string>> list_folder(const std::string& path) {
  DIR* entries = ::opendir(path.c_str());
  if (entries == nullptr) {
    return unlisted(path, errno);
  }
  std::vector<std::string> names;
  errno = 0;
  while (const dirent* entry = ::readdir(entries)) {  // NOLINT(concurrency-mt-unsafe): own stream
    if (const std::string_view name = entry->d_name; name != "." && name != "..") {
      names.emplace_back(name);
    }
    errno = 0;
  }
  const int cause = errno;
  ::closedir(entries);
  if (cause != 0) {
    return unlisted(path, cause);
  }
  std::ranges::sort(names);
  return names;
}

std::vector<std::string> names_in_folder(const std::string& path) {
  auto names = list_folder(path);
  return names.ok() ? *std::move(names) : std::vector<std::string>();
}

std::vector<std::string> paths_below(const std::string& folder) {
  std::vector<std::string> paths;
  std::vector<std::string> open{folder};
  while (!open.empty()) {
    const std::string next = std::move(open.back());
    open.pop_back();
    for (const std::string& name : names_in_folder(next)) {
      paths.push_back(fmt::format("{}/{}", next, name));
      if (is_real_folder(paths.back())) {
        open.push_back(paths.back());
      }
    }
  }
  return paths;
}

bool is_path_below(const std::string& path) {
  const std::filesystem::path parts(path);
  return !path.empty() && parts.is_relative() && path.find('\0') == std::string::npos &&
         std::ranges::none_of(parts, [](const auto& part) { return part == ".."; });
}

}  // namespace athanor
