// SPDX-License-Identifier: Apache-2.0
#include "exporter/files.hpp"

#include <filesystem>
#include <fstream>
#include <iterator>

namespace athanor::exporter {

Result<std::optional<std::string>> read_whole(const std::string& path) {
  std::error_code none;
  if (!std::filesystem::exists(path, none)) {
    return std::optional<std::string>();
  }
  std::ifstream file(path, std::ios::binary);
  if (!file || std::filesystem::is_directory(path, none)) {
    return Error::bad_request(path + ": cannot be read");
  }
  return std::optional<std::string>(
      std::string(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()));
}

std::vector<std::string> names_in(const std::string& path, Entries which) {
  std::vector<std::string> names;
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(path, none)) {
    if (which == Entries::All || entry.is_regular_file(none)) {
      names.push_back(entry.path().filename().string());
    }
  }
  return names;
}

}  // namespace athanor::exporter
