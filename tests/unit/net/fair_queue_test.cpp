// SPDX-License-Identifier: Apache-2.0
#include "net/fair_queue.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace athanor::net::fair_queue_test {
namespace {

using std::chrono::milliseconds;

const FairQueue::Time kStart{std::chrono::seconds(1000)};

class FairQueueTest : public ::testing::Test {
 protected:
  void push(const std::string& user, std::uint64_t connection, const std::string& name,
            bool mutating = false, milliseconds at = {}) {
    queue_.push(
        {.user = user, .connection = connection, .mutating = mutating},
        [this, name](bool overdue) { ran_.push_back(overdue ? "late " + name : name); },
        kStart + at);
  }
  // Runs the next one to its end.
  bool run(milliseconds at = {}) {
    auto job = queue_.pop(kStart + at);
    if (!job) {
      return false;
    }
    job->task(job->overdue);
    queue_.done(job->flow);
    return true;
  }

  FairQueue queue_{FairLimits{.reading = 4, .mutating = 2, .running_for_one = 2}};
  std::vector<std::string> ran_{};
};

TEST_F(FairQueueTest, UsersTakeTurns) {
  for (int i = 0; i < 5; ++i) {
    push("flood", 1, "f" + std::to_string(i));
  }
  push("kubectl", 2, "k0");
  push("kubectl", 2, "k1");
  while (run()) {
  }
  EXPECT_EQ(ran_, (std::vector<std::string>{"f0", "k0", "f1", "k1", "f2", "f3", "f4"}));
  EXPECT_TRUE(queue_.empty());
}

// Two programs with the same kubeconfig.
TEST_F(FairQueueTest, ConnectionsOfAUserTakeTurns) {
  for (int i = 0; i < 3; ++i) {
    push("admin", 1, "a" + std::to_string(i));
  }
  push("admin", 2, "b");
  while (run()) {
  }
  EXPECT_EQ(ran_, (std::vector<std::string>{"a0", "b", "a1", "a2"}));
}

TEST_F(FairQueueTest, OneUserDoesNotHoldEveryWorker) {
  for (int i = 0; i < 3; ++i) {
    push("slow", 1, "s");
  }
  auto first = queue_.pop(kStart);
  auto second = queue_.pop(kStart);
  ASSERT_TRUE(first && second);
  EXPECT_FALSE(queue_.pop(kStart)) << "two of one user run";
  push("other", 2, "o");
  EXPECT_TRUE(run());
  EXPECT_EQ(ran_, std::vector<std::string>{"o"});
  queue_.done(first->flow);
  EXPECT_TRUE(run());
}

TEST_F(FairQueueTest, OnlyThoseAboveTheLimitBecomeOverdue) {
  for (int i = 0; i < 6; ++i) {
    push("a", static_cast<std::uint64_t>(i), "r" + std::to_string(i));
  }
  for (int i = 0; i < 3; ++i) {
    push("b", 9, "w" + std::to_string(i), true);
  }
  while (run(milliseconds(1001))) {
  }
  EXPECT_EQ(ran_, (std::vector<std::string>{"r0", "w0", "r1", "w1", "r2", "late w2", "r3",
                                            "late r4", "late r5"}));
  // The counts went down with them.
  push("a", 1, "again", false, milliseconds(2000));
  EXPECT_TRUE(run(milliseconds(4000)));
  EXPECT_EQ(ran_.back(), "again");
}

TEST_F(FairQueueTest, InTimeNothingIsOverdue) {
  for (int i = 0; i < 10; ++i) {
    push("a", 1, "r");
  }
  while (run(milliseconds(1000))) {
  }
  EXPECT_EQ(ran_, std::vector<std::string>(10, "r"));
}

}  // namespace
}  // namespace athanor::net::fair_queue_test
