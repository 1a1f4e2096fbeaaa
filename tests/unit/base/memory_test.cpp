// SPDX-License-Identifier: Apache-2.0
#include "base/memory.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstddef>
#include <fstream>
#include <memory>
#include <vector>

namespace athanor {
namespace {

// AddressSanitizer keeps what was freed, to see who still uses it.
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ATHANOR_QUARANTINE 1
#endif
#endif
#ifdef ATHANOR_QUARANTINE
constexpr std::size_t kQuarantine = std::size_t{256} << 20;
#else
constexpr std::size_t kQuarantine = 0;
#endif

std::size_t resident() {
  std::size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages >> pages;
  return pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

TEST(Memory, WhatWasLetGoOfGoesBackToTheSystem) {
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
  EXPECT_LT(resident(), before + kPieces * kPiece / 2 + kQuarantine);
}

}  // namespace
}  // namespace athanor
