// SPDX-License-Identifier: Apache-2.0
// One watch whose reader does not read.
#include "embedded/apiserver/read/watcher.hpp"

#include <gtest/gtest.h>

#include <memory>

namespace athanor::apiserver::watcher_test {
namespace {

class WatcherTest : public ::testing::Test {
 protected:
  std::shared_ptr<SharedEvent> next() {
    auto object = std::make_shared<store::Stored>();
    object->resource = "pods";
    object->key = {"a", "p"};
    auto event = std::make_shared<store::Event>();
    event->revision = ++revision;
    event->object = std::move(object);
    return std::make_shared<SharedEvent>(std::move(event));
  }
  Watcher watcher() {
    WatchSpec spec;
    spec.resource = &resource;
    spec.accepted.shape = Shape::Table;
    spec.timeout = std::chrono::hours(1);
    return Watcher(std::move(spec), Instant{});
  }

  ResourceInfo resource{};
  store::Revision revision = 0;
};

TEST_F(WatcherTest, EndsAtTheLimitOfItsQueue) {
  Watcher slow = watcher();
  for (std::size_t i = 0; i < Watcher::kLimit; ++i) {
    ASSERT_TRUE(slow.offer(next())) << i;
  }
  EXPECT_TRUE(slow.offer(next())) << "the reader is woken for the end";
  EXPECT_FALSE(slow.offer(next())) << "it takes nothing more";
  std::string out;
  EXPECT_EQ(slow.pull(out), Stream::State::Ended);
  EXPECT_EQ(out, "") << "what was queued is gone";
}

TEST_F(WatcherTest, TakesAnyNumberOfEarlierEvents) {
  Watcher resumed = watcher();
  for (std::size_t i = 0; i < 2 * Watcher::kLimit; ++i) {
    resumed.catch_up(next());
  }
  EXPECT_TRUE(resumed.offer(next()));
  EXPECT_TRUE(resumed.offer(next())) << "still open";
}

TEST_F(WatcherTest, EndsWhenItIsFullForTooLong) {
  Watcher slow = watcher();
  for (std::size_t i = 0; i <= Watcher::kFull; ++i) {
    slow.offer(next());
  }
  slow.tick(Instant{} + std::chrono::seconds(5), revision);
  EXPECT_TRUE(slow.offer(next()));
  slow.tick(Instant{} + std::chrono::seconds(6), revision);
  EXPECT_FALSE(slow.offer(next()));
}

}  // namespace
}  // namespace athanor::apiserver::watcher_test
