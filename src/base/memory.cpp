// SPDX-License-Identifier: Apache-2.0
#include "base/memory.hpp"

#ifdef ATHANOR_TCMALLOC

#include <cstddef>

// The C interface of gperftools; its header comes with a package of profilers.
// NOLINTBEGIN(readability-identifier-naming): theirs
extern "C" {
void MallocExtension_ReleaseFreeMemory();
int MallocExtension_SetNumericProperty(const char* property, std::size_t value);
}
// NOLINTEND(readability-identifier-naming)

namespace athanor::memory {

void give_back() {
  MallocExtension_ReleaseFreeMemory();
}

void keep_little() {
  constexpr std::size_t kBytes = 4U << 20U;  // of all threads together
  MallocExtension_SetNumericProperty("tcmalloc.max_total_thread_cache_bytes", kBytes);
}

}  // namespace athanor::memory

#else

#include <malloc.h>

namespace athanor::memory {

void give_back() {
  ::malloc_trim(0);
}

void keep_little() {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): before any thread starts
  ::mallopt(M_ARENA_MAX, 2);  // more arenas win nothing on few threads
}

}  // namespace athanor::memory

#endif
