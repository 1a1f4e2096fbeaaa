// SPDX-License-Identifier: Apache-2.0
#include "cli/ending.hpp"

#include <gtest/gtest.h>

#include <thread>

namespace athanor::cli {
namespace {

TEST(EndGuardDeathTest, EndsAProgramThatDoesNot) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        const EndGuard guard(std::chrono::milliseconds(50));
        std::this_thread::sleep_for(std::chrono::hours(1));
      },
      ::testing::ExitedWithCode(1), "does not end");
}

TEST(EndGuard, LetsOneBeThatEndsInTime) {
  const EndGuard guard(std::chrono::hours(1));
}

}  // namespace
}  // namespace athanor::cli
