// SPDX-License-Identifier: Apache-2.0
#include "base/files/scratch_folder.hpp"

#include <fmt/core.h>

#include <filesystem>
#include <system_error>
#include <utility>

#include "base/files/folder.hpp"

namespace athanor {

Result<ScratchFolder> ScratchFolder::make(const std::string& parent, const std::string& prefix) {
  ATHANOR_TRY(std::string path, make_unique_folder(fmt::format("{}/{}", parent, prefix)));
  return ScratchFolder(std::move(path));
}

ScratchFolder::ScratchFolder(ScratchFolder&& other) noexcept
    : path_(std::exchange(other.path_, {})) {}

ScratchFolder& ScratchFolder::operator=(ScratchFolder&& other) noexcept {
  std::swap(path_, other.path_);
  return *this;
}

ScratchFolder::~ScratchFolder() {
  if (!path_.empty()) {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
}

}  // namespace athanor
