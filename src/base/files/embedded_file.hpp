// SPDX-License-Identifier: Apache-2.0
// EmbeddedFile: a file that the build made part of the program (cmake/EmbedFolder.cmake).
#pragma once

#include <string_view>

namespace athanor {

// One file with its compressed form.
struct EmbeddedFile {
  std::string_view path{};  // below the embedded folder
  std::string_view body{};
  std::string_view packed{};  // the body as gzip
};

}  // namespace athanor
