// SPDX-License-Identifier: Apache-2.0
#include "base/cancellation.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <thread>

namespace athanor::cancellation_test {
namespace {

using Reason = Cancellation::Reason;

// The reason for which a long loop ends; None: it did not.
Reason reason_of_loop() {
  try {
    for (int i = 0; i < 1'000; ++i) {
      give_up_if_cancelled();
    }
  } catch (const Cancelled& cancelled) {
    return cancelled.reason();
  }
  return Reason::None;
}

TEST(Cancellation, EndsTheWorkOfItsScopeAlone) {
  const auto one = std::make_shared<Cancellation>();
  {
    const CancellationScope scope(one);
    EXPECT_EQ(CancellationScope::current(), one);
    EXPECT_EQ(reason_of_loop(), Reason::None);
    one->cancel(Reason::Gone);
    one->cancel(Reason::Overdue);
    EXPECT_EQ(reason_of_loop(), Reason::Gone) << "the first reason stays";
    EXPECT_EQ(reason_of_loop(), Reason::Gone) << "for whoever goes on all the same, too";
    {
      const CancellationScope to_its_end(nullptr);
      EXPECT_EQ(reason_of_loop(), Reason::None);
    }
    EXPECT_EQ(reason_of_loop(), Reason::Gone);
    Reason elsewhere = Reason::Gone;
    std::thread([&] { elsewhere = reason_of_loop(); }).join();
    EXPECT_EQ(elsewhere, Reason::None);
  }
  EXPECT_EQ(CancellationScope::current(), nullptr);
  EXPECT_EQ(reason_of_loop(), Reason::None);
}

TEST(Cancellation, DeadlinesPass) {
  const auto one = std::make_shared<Cancellation>();
  const CancellationScope scope(one);
  one->set_deadline(std::chrono::steady_clock::now() + std::chrono::hours(1));
  EXPECT_EQ(reason_of_loop(), Reason::None);
  one->set_deadline(std::chrono::steady_clock::now() - std::chrono::microseconds(1));
  EXPECT_EQ(reason_of_loop(), Reason::Overdue);
}

TEST(Cancellation, SharesEndOfProgram) {
  const auto ending = std::make_shared<std::atomic<bool>>(false);
  const auto one = std::make_shared<Cancellation>(ending);
  const CancellationScope scope(one);
  EXPECT_EQ(reason_of_loop(), Reason::None);
  *ending = true;
  EXPECT_EQ(reason_of_loop(), Reason::Ending);
}

}  // namespace
}  // namespace athanor::cancellation_test
