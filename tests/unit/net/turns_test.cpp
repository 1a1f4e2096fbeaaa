// SPDX-License-Identifier: Apache-2.0
#include "net/turns.hpp"

#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <functional>
#include <string>
#include <thread>

namespace athanor::net::turns_test {
namespace {

TEST(Turn, EndsByReadsBytesOrTime) {
  Turn reads;
  int count = 0;
  while (reads.continues()) {
    ++count;
  }
  EXPECT_GE(count, 1);
  EXPECT_LE(count, Turn::kReads);
  Turn bytes;
  EXPECT_TRUE(bytes.continues());
  bytes.wrote(Turn::kWritten);
  EXPECT_FALSE(bytes.continues());
  Turn time;
  std::this_thread::sleep_for(Turn::kTime);
  EXPECT_TRUE(time.continues()) << "every turn gets somewhere";
  EXPECT_FALSE(time.continues());
}

// Three that always have more to do, and one that becomes ready: it waits for one of them.
TEST(TurnQueue, InterleavesReadyDescriptors) {
  EventLoop loop;
  TurnQueue turns(loop);
  EventLoop::Descriptor descriptor(loop, ::eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK));
  std::string order;
  int rounds = 0;
  std::function<void(char)> busy = [&](char name) {
    order += name;
    if (++rounds > 100) {
      return loop.stop();
    }
    turns.add([&busy, name] { busy(name); });
  };
  for (const char name : {'a', 'b', 'c'}) {
    turns.add([&busy, name] { busy(name); });
  }
  descriptor.when_readable([&] {
    order += '!';
    loop.stop();
  });
  loop.run();
  EXPECT_LE(order.size(), 4U) << order;
  EXPECT_TRUE(order.ends_with('!')) << order;
  turns.clear();
}

TEST(TurnQueue, DropsWaitingEntries) {
  EventLoop loop;
  TurnQueue turns(loop);
  bool ran = false;
  turns.add([&ran] { ran = true; });
  turns.clear();
  loop.post([&loop] { loop.stop(); });
  loop.run();
  EXPECT_FALSE(ran);
}

}  // namespace
}  // namespace athanor::net::turns_test
