// SPDX-License-Identifier: Apache-2.0
// The queue of keys: priorities and wake-up times.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/engine/model/key_queue.hpp"

namespace athanor::runtime::key_queue_test {
namespace {

using std::chrono::seconds;

TEST(KeyQueue, InteractiveComesFirst) {
  KeyQueue queue;
  queue.add(1, Priority::Resync, Instant{});
  queue.add(2, Priority::Interactive, Instant{});
  EXPECT_EQ(queue.take(nullptr)->id, 2U);
  EXPECT_EQ(queue.take(nullptr)->id, 1U);
  EXPECT_FALSE(queue.take(nullptr).has_value());
}

TEST(KeyQueue, AResyncThatBecomesInteractiveMovesUp) {
  KeyQueue queue;
  queue.add(1, Priority::Resync, Instant{});
  queue.add(2, Priority::Resync, Instant{});
  queue.add(2, Priority::Interactive, Instant{});
  EXPECT_EQ(queue.ready(), 2U);
  EXPECT_EQ(queue.take(nullptr)->id, 2U);
}

TEST(KeyQueue, KeepsEarlierWakeUp) {
  KeyQueue queue;
  queue.sleep(1, Instant{} + seconds(9));
  queue.sleep(1, Instant{} + seconds(3));
  queue.sleep(1, Instant{} + seconds(5));
  EXPECT_EQ(queue.next_wake(), Instant{} + seconds(3));
  queue.wake(Instant{} + seconds(2));
  EXPECT_EQ(queue.ready(), 0U);
  queue.wake(Instant{} + seconds(3));
  EXPECT_EQ(queue.ready(), 1U);
  EXPECT_FALSE(queue.next_wake().has_value());
}

TEST(KeyQueue, AnEventEndsASleep) {
  KeyQueue queue;
  queue.sleep(1, Instant{} + seconds(9));
  queue.add(1, Priority::Interactive, Instant{});
  EXPECT_FALSE(queue.next_wake().has_value());
  EXPECT_EQ(queue.ready(), 1U);
}

}  // namespace
}  // namespace athanor::runtime::key_queue_test
