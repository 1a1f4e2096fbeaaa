// SPDX-License-Identifier: Apache-2.0
#include "exporter/files.hpp"

#include <filesystem>
#include <utility>

#include "base/files/folder.hpp"
#include "base/files/text_file.hpp"

namespace athanor::exporter {

Result<std::optional<std::string>> read_whole(const std::string& path) {
  auto text = read_text_file(path);
  if (!text.ok() && text.error().code != 404) {
    return Error::bad_request(path + ": cannot be read");
  }
  return text.ok() ? std::optional(*std::move(text)) : std::nullopt;
}

std::vector<std::string> names_in(const std::string& path, Entries which) {
  std::vector<std::string> names;
  std::error_code none;
  for (std::string& name : names_in_folder(path)) {
    if (which == Entries::All ||
        std::filesystem::is_regular_file(std::filesystem::path(path) / name, none)) {
      names.push_back(std::move(name));
    }
  }
  return names;
}

}  // namespace athanor::exporter
