// SPDX-License-Identifier: Apache-2.0
// How many threads the process has.
#pragma once

#include <sys/single_threaded.h>

namespace athanor {

// Returns true if no other thread can run between two instructions of the caller. Starting a thread
// ends this, and that thread sees what was written before. As cheap as reading a byte.
inline bool is_only_thread() noexcept {
  return __libc_single_threaded != 0;
}

}  // namespace athanor
