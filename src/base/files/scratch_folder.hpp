// SPDX-License-Identifier: Apache-2.0
// ScratchFolder: a new folder that is deleted with it.
#pragma once

#include <string>

#include "base/result.hpp"

namespace athanor {

// Movable; not thread-safe.
class ScratchFolder {
 public:
  // Makes a folder in `parent` whose name begins with `prefix`. Error: 500 where none can be made.
  static Result<ScratchFolder> make(const std::string& parent, const std::string& prefix);

  ScratchFolder(ScratchFolder&& other) noexcept;
  ScratchFolder& operator=(ScratchFolder&& other) noexcept;
  ~ScratchFolder();

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  explicit ScratchFolder(std::string path) : path_(std::move(path)) {}

  std::string path_;
};

}  // namespace athanor
