// SPDX-License-Identifier: Apache-2.0
#include "cli/jobs/job_files.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <system_error>

#include "base/files/folder.hpp"
#include "base/files/text_file.hpp"

namespace athanor::cli {

Result<std::string> read_manifest(const std::string& file) {
  if (file == "-") {
    std::string text;
    char buffer[65536];
    for (ssize_t count = ::read(STDIN_FILENO, buffer, sizeof buffer); count > 0;
         count = ::read(STDIN_FILENO, buffer, sizeof buffer)) {
      text.append(buffer, static_cast<std::size_t>(count));
    }
    return text;
  }
  return read_text_file(file);
}

Result<std::vector<std::string>> manifest_files(const std::string& path) {
  std::error_code failed;
  if (path == "-" || !std::filesystem::is_directory(path, failed)) {
    return std::vector<std::string>{path};
  }
  ATHANOR_TRY(const std::vector<std::string> names, list_folder(path));
  std::vector<std::string> files;
  for (const std::string& name : names) {
    const std::filesystem::path file = std::filesystem::path(path) / name;
    const std::string extension = file.extension().string();
    if (std::filesystem::is_regular_file(file, failed) &&
        (extension == ".yaml" || extension == ".yml" || extension == ".json")) {
      files.push_back(file.string());
    }
  }
  if (files.empty()) {
    return Error::not_found(fmt::format("{}: holds no .yaml, .yml or .json file", path));
  }
  return files;
}

}  // namespace athanor::cli
