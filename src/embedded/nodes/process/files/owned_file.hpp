// SPDX-License-Identifier: Apache-2.0
// OwnedFile: a descriptor, closed with it.
#pragma once

namespace athanor::nodes {

// Movable; not thread-safe.
class OwnedFile {
 public:
  explicit OwnedFile(int file) : file_(file) {}
  OwnedFile(OwnedFile&& other) noexcept;
  OwnedFile& operator=(OwnedFile&& other) noexcept;
  ~OwnedFile();
  // Returns another descriptor of the same file, the caller's.
  [[nodiscard]] int duplicate() const;

 private:
  int file_;
};

}  // namespace athanor::nodes
