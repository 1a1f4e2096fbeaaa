// SPDX-License-Identifier: Apache-2.0
#include "cli/ending.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
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

void end_after(int signals) {
  EndSignals ending;
  for (int i = 0; i < signals; ++i) {
    ::kill(::getpid(), SIGTERM);
    if (i == 0) {
      ending.wait();
      ending.end_at_next();
    }
  }
  ::_exit(0);
}

TEST(EndSignalsDeathTest, TheSecondSignalEndsTheProgram) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(end_after(2), ::testing::ExitedWithCode(1), "a second signal");
  EXPECT_EXIT(end_after(1), ::testing::ExitedWithCode(0), "");
}

TEST(EndGuard, LetsOneBeThatEndsInTime) {
  const EndGuard guard(std::chrono::hours(1));
}

}  // namespace
}  // namespace athanor::cli
