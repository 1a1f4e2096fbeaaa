// SPDX-License-Identifier: Apache-2.0
#include "base/memory.hpp"

#include <malloc.h>

#include <cstddef>

// The C interface of gperftools; its header comes with a package of profilers. Weak: only programs
// link the allocator, libraries and tests run without.
// NOLINTBEGIN(readability-identifier-naming): theirs
extern "C" {
[[gnu::weak]] void MallocExtension_ReleaseFreeMemory();
[[gnu::weak]] int MallocExtension_SetNumericProperty(const char* property, std::size_t value);
}
// NOLINTEND(readability-identifier-naming)

namespace athanor::memory {

void give_back() {
  if (MallocExtension_ReleaseFreeMemory != nullptr) {
    MallocExtension_ReleaseFreeMemory();
  } else {
    ::malloc_trim(0);
  }
}

void keep_little() {
  if (MallocExtension_SetNumericProperty != nullptr) {
    constexpr std::size_t kBytes = std::size_t{4} << 20U;  // of all threads together
    MallocExtension_SetNumericProperty("tcmalloc.max_total_thread_cache_bytes", kBytes);
  } else {
    // NOLINTNEXTLINE(concurrency-mt-unsafe): before any thread starts
    ::mallopt(M_ARENA_MAX, 2);  // more arenas win nothing on few threads
  }
}

}  // namespace athanor::memory
