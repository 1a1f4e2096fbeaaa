// SPDX-License-Identifier: Apache-2.0
#include "base/memory.hpp"

#include <malloc.h>
#include <sys/prctl.h>

#include <algorithm>
#include <cstddef>

// The C interface of gperftools; its header comes with a package of profilers. Weak: only programs
// link the allocator, libraries and tests run without.
// NOLINTBEGIN(readability-identifier-naming): theirs
extern "C" {
[[gnu::weak]] void MallocExtension_ReleaseFreeMemory();
[[gnu::weak]] int MallocExtension_SetNumericProperty(const char* property, std::size_t value);
[[gnu::weak]] int MallocExtension_GetNumericProperty(const char* property, std::size_t* value);
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
  // The kernel makes huge pages of what was given back: a heap of 60 MiB grew by 30 within a
  // minute.
  ::prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
  if (MallocExtension_SetNumericProperty != nullptr) {
    constexpr std::size_t kBytes = std::size_t{4} << 20U;  // of all threads together
    MallocExtension_SetNumericProperty("tcmalloc.max_total_thread_cache_bytes", kBytes);
  } else {
    // NOLINTNEXTLINE(concurrency-mt-unsafe): before any thread starts
    ::mallopt(M_ARENA_MAX, 2);  // more arenas win nothing on few threads
    // Large texts stay out of the heap, whose holes cannot go back; without this the limit follows
    // the largest text that was ever freed.
    constexpr int kLarge = 128 << 10;
    ::mallopt(M_MMAP_THRESHOLD, kLarge);  // NOLINT(concurrency-mt-unsafe)
  }
}

void allow_huge_pages() noexcept {
  ::prctl(PR_SET_THP_DISABLE, 0, 0, 0, 0);
}

std::size_t idle_bytes() {
  if (MallocExtension_GetNumericProperty == nullptr) {
    return ::mallinfo2().fordblks;  // what was trimmed stays in it, and is trimmed again at no cost
  }
  std::size_t bytes = 0;  // of whole pages that are not given back yet
  return MallocExtension_GetNumericProperty("tcmalloc.pageheap_free_bytes", &bytes) != 0 ? bytes
                                                                                         : 0;
}

bool IdleRelease::look(Time now) {
  const std::size_t idle = idle_bytes();
  if (since_ == Time() || idle < kKept) {
    since_ = now;
    least_ = idle;
    return false;
  }
  least_ = std::min(least_, idle);
  if (now < since_ + kPatience) {
    return false;
  }
  const bool much = least_ >= kKept;
  since_ = now;
  least_ = idle;
  if (much) {
    give_back();
  }
  return much;
}

}  // namespace athanor::memory
