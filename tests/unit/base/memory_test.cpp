// SPDX-License-Identifier: Apache-2.0
#include "base/memory.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstddef>
#include <fstream>
#include <memory>
#include <vector>

namespace athanor::memory_test {
namespace {

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define ATHANOR_SANITIZED 1
#endif
#endif

std::size_t resident() {
  std::size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages >> pages;
  return pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

TEST(Memory, ReturnsFreedMemoryToTheSystem) {
#ifdef ATHANOR_SANITIZED
  GTEST_SKIP() << "sanitizers have an allocator of their own, which keeps what was freed";
#endif
  constexpr std::size_t kPieces = 100'000;
  constexpr std::size_t kPiece = 1024;
  const std::size_t before = resident();
  {
    std::vector<std::unique_ptr<std::vector<char>>> pieces;
    for (std::size_t i = 0; i < kPieces; ++i) {
      pieces.push_back(std::make_unique<std::vector<char>>(kPiece, 'x'));
    }
    ASSERT_GT(resident(), before + kPieces * kPiece / 2);
  }
  memory::give_back();
  EXPECT_LT(resident(), before + kPieces * kPiece / 2);
}

// What a spike left goes by itself, once nobody took it again for a while.
TEST(Memory, GivesIdleMemoryBackAfterPatience) {
#ifdef ATHANOR_SANITIZED
  GTEST_SKIP() << "sanitizers have an allocator of their own, which keeps what was freed";
#endif
  constexpr std::size_t kSpike = std::size_t{200} << 20;
  memory::give_back();
  memory::IdleRelease idle;
  auto now = memory::IdleRelease::Time() + std::chrono::hours(1);
  const std::size_t before = resident();
  idle.look(now);
  {
    const std::vector<char> spike(kSpike, 'x');
    ASSERT_GT(resident(), before + kSpike / 2);
    EXPECT_FALSE(idle.look(now += std::chrono::seconds(10))) << "it is in use";
  }
  EXPECT_FALSE(idle.look(now += std::chrono::milliseconds(250))) << "it may be taken again";
  bool went = false;
  for (int i = 0; i < 40 && !went; ++i) {
    went = idle.look(now += std::chrono::milliseconds(250));
  }
  EXPECT_LT(resident(), before + (std::size_t{20} << 20));
}

}  // namespace
}  // namespace athanor::memory_test
