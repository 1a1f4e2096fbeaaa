// SPDX-License-Identifier: Apache-2.0
#include "embedded/nodes/process/files/owned_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <utility>

namespace athanor::nodes {

OwnedFile::OwnedFile(OwnedFile&& other) noexcept : file_(std::exchange(other.file_, -1)) {}

OwnedFile& OwnedFile::operator=(OwnedFile&& other) noexcept {
  std::swap(file_, other.file_);
  return *this;
}

OwnedFile::~OwnedFile() {
  if (file_ >= 0) {
    ::close(file_);
  }
}

int OwnedFile::duplicate() const {
  return ::fcntl(file_, F_DUPFD_CLOEXEC, 0);
}

}  // namespace athanor::nodes
