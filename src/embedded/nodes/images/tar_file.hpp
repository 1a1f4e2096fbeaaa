// SPDX-License-Identifier: Apache-2.0
// TarFile: the entries of a tar archive, plain or compressed by gzip or zstd (ustar, pax and GNU's
// long names). It reads what strangers made: every length is checked, nothing is written.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/result.hpp"

namespace athanor::nodes {

// One entry. `path` and `link` are as written.
struct TarEntry {
  enum class Type : std::uint8_t { File, Folder, SymbolicLink, HardLink, Other };
  Type type = Type::File;
  std::string path{};
  std::string link{};
  unsigned mode = 0;
  std::uint32_t user = 0;
  std::uint32_t group = 0;
  std::int64_t size = 0;
};

// Not thread-safe.
class TarFile {
 public:
  static Result<TarFile> open(const std::string& path);
  TarFile(TarFile&& other) noexcept;
  TarFile& operator=(TarFile&& other) noexcept;
  ~TarFile();

  // Returns the next entry, skipping what is left of the one before; nullopt at the end.
  Result<std::optional<TarEntry>> next();
  // Reads up to `size` bytes of the entry's content into `buffer`. Returns their number, 0 at the
  // content's end.
  Result<std::size_t> read(char* buffer, std::size_t size);

 private:
  class Impl;
  explicit TarFile(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace athanor::nodes
