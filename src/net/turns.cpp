// SPDX-License-Identifier: Apache-2.0
#include "net/turns.hpp"

#include <utility>

namespace athanor::net {

Turn::Turn() : end_(std::chrono::steady_clock::now() + kTime) {}

bool Turn::continues() {
  return steps_++ == 0 ||  // every turn gets somewhere
         (steps_ <= kReads && written_ < kWritten && std::chrono::steady_clock::now() < end_);
}

void TurnQueue::add(EventLoop::Task task) {
  waiting_.push_back(std::move(task));
  if (!posted_) {
    post();
  }
}

void TurnQueue::post() {
  posted_ = true;
  loop_.post([this] {
    posted_ = false;
    if (waiting_.empty()) {
      return;
    }
    EventLoop::Task task = std::move(waiting_.front());
    waiting_.pop_front();
    if (!waiting_.empty()) {
      post();
    }
    task();
  });
}

}  // namespace athanor::net
