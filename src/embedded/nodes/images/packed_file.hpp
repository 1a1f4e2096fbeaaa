// SPDX-License-Identifier: Apache-2.0
// PackedFile: the bytes of a file that is plain, or compressed by gzip or zstd, read once from its
// beginning to its end.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "base/result.hpp"

namespace athanor::nodes {

// Not thread-safe. Its buffers are limited, whatever the file says of itself.
class PackedFile {
 public:
  // Opens a file; NotFound, or why it cannot be read.
  static Result<PackedFile> open(const std::string& path);
  PackedFile(PackedFile&& other) noexcept;
  PackedFile& operator=(PackedFile&& other) noexcept;
  ~PackedFile();

  // Reads up to `size` bytes; fewer only at the end. BadRequest: it cannot be uncompressed.
  Result<std::size_t> read(char* buffer, std::size_t size);

 private:
  class Impl;
  explicit PackedFile(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace athanor::nodes
