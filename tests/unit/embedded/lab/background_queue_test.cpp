// SPDX-License-Identifier: Apache-2.0
#include "embedded/lab/background_queue.hpp"

#include <gtest/gtest.h>

#include <future>
#include <string>

namespace athanor::lab::background_queue_test {
namespace {

TEST(BackgroundQueue, RunsUrgentTasksFirstInOrder) {
  std::string order;
  std::promise<void> gate;
  {
    BackgroundQueue queue;
    queue.add([open = gate.get_future()]() mutable { open.wait(); });
    for (const char task : {'a', 'b'}) {
      queue.add([&order, task] { order += task; });
    }
    for (const char task : {'1', '2', '3'}) {
      queue.add_urgent([&order, task] { order += task; });
    }
    gate.set_value();
  }
  EXPECT_EQ(order, "123ab");
}

}  // namespace
}  // namespace athanor::lab::background_queue_test
