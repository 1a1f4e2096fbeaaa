// SPDX-License-Identifier: Apache-2.0
// FolderWatch: lets one thread sleep until files of a folder come or go, or until it is woken.
#pragma once

#include <chrono>
#include <string>

namespace athanor::agent {

class FolderWatch {
 public:
  // Makes the folder when it is missing.
  explicit FolderWatch(const std::string& folder);
  FolderWatch(const FolderWatch&) = delete;
  FolderWatch& operator=(const FolderWatch&) = delete;
  ~FolderWatch();

  // Wakes the watcher. Thread-safe.
  void wake() const;
  // Returns true if a file came, went or was renamed.
  bool wait(std::chrono::milliseconds patience) const;

 private:
  int wake_ = -1;
  int notify_ = -1;
};

}  // namespace athanor::agent
