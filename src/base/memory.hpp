// SPDX-License-Identifier: Apache-2.0
// Free memory that the allocator keeps for later: tcmalloc where it is linked (the option
// ATHANOR_TCMALLOC), else glibc's.
#pragma once

#include <chrono>
#include <cstddef>

namespace athanor::memory {

// Gives free memory back to the system. To be called after much was freed: it costs
// milliseconds.
void give_back();

// Sets the allocator up for a program that runs for weeks: threads keep little, and the kernel
// makes no huge pages, at the price of some speed. Call it before the first thread starts.
void keep_little();
// Undoes keep_little() in a child that executes another program: it inherits the kernel's part.
// Async-signal-safe.
void allow_huge_pages() noexcept;

// Returns the bytes that the allocator holds unused; 0 where that cannot be known.
[[nodiscard]] std::size_t idle_bytes();

// Gives back what a spike left: to be asked a few times a second by some thread. Memory that was
// free all of kPatience and is more than kKept goes back to the system; what a busy program frees
// and takes again stays.
class IdleRelease {
 public:
  using Time = std::chrono::steady_clock::time_point;
  static constexpr std::size_t kKept = std::size_t{8} << 20;
  static constexpr std::chrono::seconds kPatience{2};

  // Returns true when memory went back.
  bool look(Time now);

 private:
  Time since_{};           // when the patience began
  std::size_t least_ = 0;  // bytes that were idle since then
};

}  // namespace athanor::memory
