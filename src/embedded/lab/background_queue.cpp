// SPDX-License-Identifier: Apache-2.0
// One thread, one queue.
#include "embedded/lab/background_queue.hpp"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

#include "base/contain.hpp"

namespace athanor::lab {

struct BackgroundQueue::Impl {
  std::mutex mutex{};
  std::condition_variable news{};
  std::deque<UniqueFunction<void()>> tasks{};  // mutex
  bool stopping = false;                       // mutex
  std::thread thread{};

  void run() {
    std::unique_lock lock(mutex);
    while (true) {
      news.wait(lock, [this] { return stopping || !tasks.empty(); });
      if (tasks.empty()) {
        return;
      }
      UniqueFunction<void()> task = std::move(tasks.front());
      tasks.pop_front();
      lock.unlock();
      static_cast<void>(contain(task));
      lock.lock();
    }
  }
};

BackgroundQueue::BackgroundQueue() : impl_(std::make_unique<Impl>()) {
  impl_->thread = std::thread([impl = impl_.get()] { impl->run(); });
}

BackgroundQueue::~BackgroundQueue() {
  {
    const std::lock_guard lock(impl_->mutex);
    impl_->stopping = true;
    impl_->news.notify_one();
  }
  impl_->thread.join();
}

void BackgroundQueue::add(UniqueFunction<void()> task) {
  const std::lock_guard lock(impl_->mutex);
  impl_->tasks.push_back(std::move(task));
  impl_->news.notify_one();
}

void BackgroundQueue::add_first(UniqueFunction<void()> task) {
  const std::lock_guard lock(impl_->mutex);
  impl_->tasks.push_front(std::move(task));
  impl_->news.notify_one();
}

}  // namespace athanor::lab
