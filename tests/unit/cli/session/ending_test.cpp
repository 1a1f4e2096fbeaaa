// SPDX-License-Identifier: Apache-2.0
#include "cli/session/ending.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <initializer_list>
#include <thread>

namespace athanor::cli::ending_test {
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

// Sends the signal again after each of these pauses.
void end_after(std::initializer_list<std::chrono::milliseconds> pauses) {
  EndSignals ending;
  ::kill(::getpid(), SIGTERM);
  ending.wait();
  ending.end_at_next();
  for (const std::chrono::milliseconds pause : pauses) {
    std::this_thread::sleep_for(pause);
    ::kill(::getpid(), SIGTERM);
  }
  ::_exit(0);
}

TEST(EndSignalsDeathTest, TheSecondSignalEndsTheProgram) {
  using std::chrono::milliseconds;
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(end_after({milliseconds(600)}), ::testing::ExitedWithCode(1), "a second signal");
  EXPECT_EXIT(end_after({}), ::testing::ExitedWithCode(0), "");
  EXPECT_EXIT(end_after({milliseconds(0)}), ::testing::ExitedWithCode(0), "")
      << "`timeout` sends its signal twice";
  EXPECT_EXIT(end_after({milliseconds(0), milliseconds(600)}), ::testing::ExitedWithCode(1),
              "a second signal");
}

TEST(EndGuard, LetsOneBeThatEndsInTime) {
  const EndGuard guard(std::chrono::hours(1));
}

}  // namespace
}  // namespace athanor::cli::ending_test
