// SPDX-License-Identifier: Apache-2.0
// How many threads the process has.
#pragma once

#include <sys/single_threaded.h>

namespace athanor {

// Whether nobody can come between two instructions of the caller. Whoever starts a thread ends it,
// and what was written before is seen by that thread. As cheap as reading a byte.
inline bool is_only_thread() noexcept {
  return __libc_single_threaded != 0;
}

}  // namespace athanor
