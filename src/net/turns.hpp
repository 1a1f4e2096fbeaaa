// SPDX-License-Identifier: Apache-2.0
// What one connection may do before the others' turn, so that a client that always has more to say
// delays no other. For the event loop's thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>

#include "net/event_loop.hpp"

namespace athanor::net {

// One turn of one connection: a number of reads, bytes to write, and time. Begins when it is made.
class Turn {
 public:
  using Time = std::chrono::steady_clock::time_point;
  static constexpr int kReads = 32;
  static constexpr std::size_t kWritten = std::size_t{512} * 1024;  // bytes
  static constexpr std::chrono::milliseconds kTime{2};

  Turn();
  // Returns true while the turn lasts; asked before each read and each write.
  bool continues();
  void wrote(std::size_t size) { written_ += size; }

 private:
  int steps_ = 0;
  std::size_t written_ = 0;
  Time end_;
};

// Connections that used up their turn. One of them continues in each round of the loop: a
// connection that becomes ready meanwhile waits for one turn, however many are queued.
class TurnQueue {
 public:
  // Requires that the loop outlives it.
  explicit TurnQueue(EventLoop& loop) : loop_(loop) {}
  TurnQueue(const TurnQueue&) = delete;
  TurnQueue& operator=(const TurnQueue&) = delete;

  void add(EventLoop::Task task);
  // Drops all that wait.
  void clear() { waiting_.clear(); }

 private:
  void post();

  EventLoop& loop_;
  std::deque<EventLoop::Task> waiting_{};
  bool posted_ = false;
};

}  // namespace athanor::net
