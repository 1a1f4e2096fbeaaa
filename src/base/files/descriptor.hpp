// SPDX-License-Identifier: Apache-2.0
// Descriptor: a file descriptor, closed with it.
#pragma once

#include <utility>

namespace athanor {

// Movable; not thread-safe. Holds -1 where there is none.
class Descriptor {
 public:
  explicit Descriptor(int file = -1) : file_(file) {}
  Descriptor(Descriptor&& other) noexcept : file_(other.release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    reset(other.release());
    return *this;
  }
  ~Descriptor() { reset(); }

  [[nodiscard]] int get() const { return file_; }
  [[nodiscard]] bool valid() const { return file_ >= 0; }
  // Gives it away.
  [[nodiscard]] int release() { return std::exchange(file_, -1); }
  // Closes what it holds and takes `file`.
  void reset(int file = -1);

 private:
  int file_;
};

}  // namespace athanor
