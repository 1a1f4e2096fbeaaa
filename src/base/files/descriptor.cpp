// SPDX-License-Identifier: Apache-2.0
#include "base/files/descriptor.hpp"

#include <unistd.h>

namespace athanor {

void Descriptor::reset(int file) {
  if (const int old = std::exchange(file_, file); old >= 0) {
    ::close(old);
  }
}

}  // namespace athanor
