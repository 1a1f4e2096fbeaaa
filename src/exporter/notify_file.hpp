// SPDX-License-Identifier: Apache-2.0
// The exporter's notify file (docs/spec/numa.md 9.9): a change of its times is an event.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.hpp"

namespace athanor::exporter {

// Compares the file's times at each call.
class NotifyFile {
 public:
  // Creates the file, empty, where it is absent; an empty path: there is none. Errors: it cannot
  // be made, it is no regular file, it is not empty.
  static Result<NotifyFile> open(const std::string& path);

  // Returns true if it changed since the last call.
  bool touched();

 private:
  std::string path_{};
  std::int64_t last_ = 0;
};

}  // namespace athanor::exporter
