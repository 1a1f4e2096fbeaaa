// SPDX-License-Identifier: Apache-2.0
// Tasks of a queue that stops are answered all the same.
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <thread>

#include "agent/node/queue_thread.hpp"

namespace athanor::agent::queue_thread_test {
namespace {

TEST(QueueThread, DropsUnbegunTasksOnStop) {
  QueueThread queue;
  std::promise<void> begun;
  std::promise<void> may_end;
  bool ran = false;
  bool dropped = false;
  ASSERT_TRUE(queue.add([&] {
    begun.set_value();
    may_end.get_future().wait();
  }));
  begun.get_future().wait();
  ASSERT_TRUE(queue.add([&] { ran = true; }, [&] { dropped = true; }));
  // Nothing is taken once it stops, so the task that runs may end then.
  std::thread stops([&] { queue.stop(); });
  while (queue.add([] {})) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  may_end.set_value();
  stops.join();
  EXPECT_FALSE(ran);
  EXPECT_TRUE(dropped);
}

TEST(QueueThread, AfterStopNothingIsTaken) {
  QueueThread queue;
  queue.stop();
  EXPECT_FALSE(queue.add([] { FAIL(); }, [] { FAIL(); }));
}

}  // namespace
}  // namespace athanor::agent::queue_thread_test
