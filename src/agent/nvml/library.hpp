// SPDX-License-Identifier: Apache-2.0
// NVML as a shared library, loaded when a node needs it.
#pragma once

#include <memory>
#include <string>

#include "agent/nvml/nvml_abi.hpp"
#include "base/result.hpp"

namespace athanor::agent::nvml {

// Owns the loaded and initialised library; shuts it down at the end.
class Library {
 public:
  // Loads the library. Errors: no such library, a call that it lacks, no driver.
  static Result<std::unique_ptr<Library>> load(const std::string& path);
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  ~Library();

  [[nodiscard]] const Calls& calls() const { return calls_; }

 private:
  Library() = default;
  Result<void> open(const std::string& path);

  void* handle_ = nullptr;
  bool started_ = false;
  Calls calls_{};
};

// Returns the error of a call that did not succeed: "<prefix><NVML's words>".
Error error_of(const Calls& calls, Return code, const std::string& prefix);

}  // namespace athanor::agent::nvml
