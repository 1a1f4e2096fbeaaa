// SPDX-License-Identifier: Apache-2.0
// Payloads of volumes.
#include "embedded/nodes/process/files/payload_volume.hpp"

#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <system_error>
#include <utility>

#include "base/files/folder.hpp"
#include "embedded/nodes/process/files/folder_removal.hpp"
#include "embedded/nodes/process/files/group_rights.hpp"
#include "embedded/nodes/process/files/regular_file.hpp"

namespace athanor::nodes {
namespace {

constexpr const char* kData = "..data";
constexpr std::size_t kMostRead = std::size_t{8} << 20;  // far above what an object may hold

// Paths inside a volume stay inside it, and out of the links' way.
bool is_allowed(const std::string& path) {
  return is_path_below(path) && !path.starts_with("..");
}

std::string current_folder(const std::string& folder) {
  std::error_code failure;
  const auto link = std::filesystem::read_symlink(folder + "/" + kData, failure);
  return failure ? std::string() : link.filename().string();
}

bool holds(const std::string& folder, const std::vector<PayloadFile>& files) {
  const std::string now = current_folder(folder);
  if (now.empty()) {
    return false;
  }
  std::error_code unclear;
  const auto count = std::ranges::count_if(
      paths_below(fmt::format("{}/{}", folder, now)),
      [&](const std::string& path) { return !std::filesystem::is_directory(path, unclear); });
  return std::cmp_equal(count, files.size()) &&
         std::ranges::all_of(files, [&](const PayloadFile& file) {
           return payload_data(folder, file.path) == file.data;
         });
}

Result<void> write_files(const std::string& folder, const std::vector<PayloadFile>& files) {
  for (const PayloadFile& file : files) {
    const std::string path = folder + "/" + file.path;
    std::error_code failure;
    std::filesystem::create_directories(std::filesystem::path(path).parent_path(), failure);
    ATHANOR_TRY_VOID(write_new_file(path, file.data, file.mode));
  }
  return {};
}

// The names in the volume: links to what they were in the state before, or will be.
void link_names(const std::string& folder, const std::vector<PayloadFile>& files) {
  std::set<std::string> names;
  for (const PayloadFile& file : files) {
    names.insert(file.path.substr(0, file.path.find('/')));
  }
  for (const std::string& name : names_in_folder(folder)) {
    if (!name.starts_with("..") && !names.contains(name)) {
      ::unlink(fmt::format("{}/{}", folder, name).c_str());
    }
  }
  for (const std::string& name : names) {
    static_cast<void>(::symlink(fmt::format("{}/{}", kData, name).c_str(),
                                fmt::format("{}/{}", folder, name).c_str()));
  }
}

}  // namespace

std::optional<std::string> payload_data(const std::string& folder, const std::string& path) {
  const std::string now = current_folder(folder);
  return now.empty() ? std::nullopt : read_regular_below(folder + "/" + now, path, kMostRead);
}

Result<void> write_payload(const std::string& folder, const std::vector<PayloadFile>& files,
                           std::optional<unsigned> group) {
  for (const PayloadFile& file : files) {
    if (!is_allowed(file.path)) {
      return Error::bad_request(fmt::format("path {} leaves the volume", file.path));
    }
  }
  if (holds(folder, files)) {
    return {};
  }
  const std::string before = current_folder(folder);
  ATHANOR_TRY(const std::string next, make_unique_folder(folder + "/..state_"));
  if (::chmod(next.c_str(), 0755) != 0) {
    return Error::internal(fmt::format("cannot open {} to readers", next));
  }
  if (auto written = write_files(next, files); !written.ok()) {
    remove_folder(next);
    return written;
  }
  if (group) {
    give_to_group(next, *group, GroupRights::Read);
  }
  const std::string link = folder + "/..data_tmp";
  ::unlink(link.c_str());
  const std::string name = next.substr(folder.size() + 1);
  if (::symlink(name.c_str(), link.c_str()) != 0 ||
      ::rename(link.c_str(), fmt::format("{}/{}", folder, kData).c_str()) != 0) {
    remove_folder(next);
    return Error::internal(fmt::format("cannot link {}/{}", folder, kData));
  }
  link_names(folder, files);
  if (!before.empty()) {
    remove_folder(folder + "/" + before);
  }
  return {};
}

}  // namespace athanor::nodes
