// SPDX-License-Identifier: Apache-2.0
// The rate limit and the lanes, in virtual time.
#include "client/dispatcher.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace athanor::client::dispatcher_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(TokenBucket, GivesBurstAtOnceThenRate) {
  TokenBucket bucket(10, 3);
  const SteadyTime start{};
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(bucket.take(start));
  }
  EXPECT_FALSE(bucket.take(start));
  const auto wait = bucket.ready_at(start) - start;
  EXPECT_GE(wait, milliseconds(100));
  EXPECT_LT(wait, milliseconds(101));
  EXPECT_FALSE(bucket.take(start + milliseconds(99)));
  EXPECT_TRUE(bucket.take(start + wait));
}

TEST(TokenBucket, NeverHoldsMoreThanTheBurst) {
  TokenBucket bucket(10, 2);
  const SteadyTime late = SteadyTime{} + seconds(1000);
  ASSERT_TRUE(bucket.take(SteadyTime{}));
  EXPECT_TRUE(bucket.take(late));
  EXPECT_TRUE(bucket.take(late));
  EXPECT_FALSE(bucket.take(late));
}

TEST(TokenBucket, WithoutARateEverythingGoes) {
  TokenBucket bucket(0, 0);
  for (int i = 0; i < 1000; ++i) {
    ASSERT_TRUE(bucket.take(SteadyTime{}));
  }
}

std::vector<std::uint64_t> all(Dispatcher& dispatcher, SteadyTime now) {
  std::vector<std::uint64_t> ids;
  while (const auto turn = dispatcher.next(now)) {
    ids.push_back(turn->id);
  }
  return ids;
}

TEST(Dispatcher, TakesLanesInOrderAndEachInTurn) {
  Dispatcher dispatcher({});
  dispatcher.add(Lane::Background, 1);
  dispatcher.add(Lane::Normal, 2);
  dispatcher.add(Lane::Urgent, 3);
  dispatcher.add(Lane::Normal, 4);
  dispatcher.add(Lane::Lease, 5);
  EXPECT_EQ(all(dispatcher, SteadyTime{}), (std::vector<std::uint64_t>{5, 3, 2, 4, 1}));
}

TEST(Dispatcher, AFloodNeverHoldsBackALease) {
  Dispatcher dispatcher({.qps = 1, .burst = 2, .max_in_flight = 1000, .max_queued = 10});
  for (std::uint64_t id = 1; id <= 10; ++id) {
    ASSERT_TRUE(dispatcher.add(Lane::Urgent, id));
  }
  EXPECT_FALSE(dispatcher.add(Lane::Urgent, 11)) << "the queue is full";
  EXPECT_EQ(all(dispatcher, SteadyTime{}).size(), 2U);
  ASSERT_TRUE(dispatcher.add(Lane::Lease, 100));
  EXPECT_EQ(dispatcher.next_at(SteadyTime{}), SteadyTime{});
  EXPECT_EQ(all(dispatcher, SteadyTime{}), std::vector<std::uint64_t>{100});
  const auto next = dispatcher.next_at(SteadyTime{});
  ASSERT_TRUE(next.has_value());
  EXPECT_EQ(all(dispatcher, *next), std::vector<std::uint64_t>{3});
}

TEST(Dispatcher, BoundsRequestsInFlightExceptLeases) {
  Dispatcher dispatcher({.qps = 0, .burst = 0, .max_in_flight = 2, .max_queued = 100});
  for (std::uint64_t id = 1; id <= 4; ++id) {
    dispatcher.add(Lane::Normal, id);
  }
  dispatcher.add(Lane::Lease, 9);
  EXPECT_EQ(all(dispatcher, SteadyTime{}), (std::vector<std::uint64_t>{9, 1, 2}));
  EXPECT_EQ(dispatcher.next_at(SteadyTime{}), std::nullopt) << "something has to end first";
  dispatcher.ended(Lane::Lease);
  EXPECT_TRUE(all(dispatcher, SteadyTime{}).empty());
  dispatcher.ended(Lane::Normal);
  EXPECT_EQ(all(dispatcher, SteadyTime{}), std::vector<std::uint64_t>{3});
}

TEST(Dispatcher, UnsentRequestsCostNothing) {
  Dispatcher dispatcher({.qps = 1, .burst = 1, .max_in_flight = 1, .max_queued = 10});
  dispatcher.add(Lane::Normal, 1);
  dispatcher.add(Lane::Normal, 2);
  ASSERT_TRUE(dispatcher.next(SteadyTime{}).has_value());
  dispatcher.skipped(Lane::Normal);
  EXPECT_EQ(all(dispatcher, SteadyTime{}), std::vector<std::uint64_t>{2});
}

}  // namespace
}  // namespace athanor::client::dispatcher_test
