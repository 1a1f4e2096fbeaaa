// SPDX-License-Identifier: Apache-2.0
// The directory that the embedded control plane keeps its files in, held by one process at a time.
#pragma once

#include <string>

#include "base/result.hpp"

namespace athanor::store {

// Holds the directory's lock as long as it lives; the kernel frees it when the process dies.
class DataDirectory {
 public:
  // Makes the directory (mode 0700) and those above it when missing, and takes the lock. Error
  // Locked (409) names the process that has it.
  static Result<DataDirectory> open(std::string path);
  DataDirectory(DataDirectory&& other) noexcept;
  DataDirectory& operator=(DataDirectory&& other) noexcept;
  ~DataDirectory();

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string database() const { return path_ + "/store.db"; }
  // Returns the file of the newest acknowledged revision (revision_mark.hpp).
  [[nodiscard]] std::string mark() const { return path_ + "/revision"; }
  [[nodiscard]] std::string pki() const { return path_ + "/pki"; }
  [[nodiscard]] std::string kubeconfig() const { return path_ + "/admin.kubeconfig"; }
  [[nodiscard]] std::string tokens() const { return path_ + "/tokens.csv"; }
  [[nodiscard]] std::string lock_file() const { return path_ + "/lock"; }

 private:
  explicit DataDirectory(std::string path) : path_(std::move(path)) {}

  std::string path_;
  int lock_ = -1;
};

}  // namespace athanor::store
