// SPDX-License-Identifier: Apache-2.0
// The file of a record: new, for its owner alone, and bounded.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace athanor::cli {

// One thread at a time.
class RecordFile {
 public:
  // Creates the file; overwrites one that is there. Errors: a file that cannot be made.
  static Result<std::unique_ptr<RecordFile>> create(const std::string& path, std::size_t limit);
  RecordFile(const RecordFile&) = delete;
  RecordFile& operator=(const RecordFile&) = delete;
  ~RecordFile();

  // Lines arrive whole or, at the limit, not at all; false: this one did not, and none will.
  // The log has a warning then.
  bool write(std::string_view line);

 private:
  RecordFile(int file, std::size_t limit) : file_(file), left_(limit) {}
  bool flush();

  int file_;
  std::size_t left_;
  std::string buffer_{};
};

}  // namespace athanor::cli
