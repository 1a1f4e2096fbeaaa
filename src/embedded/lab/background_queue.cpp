// SPDX-License-Identifier: Apache-2.0
// One thread; tasks in order, urgent ones before the others.
#include "embedded/lab/background_queue.hpp"

#include <deque>
#include <thread>
#include <utility>

#include "base/condition_variable.hpp"
#include "base/contain.hpp"
#include "base/mutex.hpp"

namespace athanor::lab {

struct BackgroundQueue::Impl {
  Mutex mutex{};
  ConditionVariable news{};
  std::deque<UniqueFunction<void()>> urgent ATHANOR_GUARDED_BY(mutex){};
  std::deque<UniqueFunction<void()>> tasks ATHANOR_GUARDED_BY(mutex){};
  bool stopping ATHANOR_GUARDED_BY(mutex) = false;
  std::thread thread{};

  void run() {
    MutexLock lock(mutex);
    while (true) {
      news.wait(lock, [this]() ATHANOR_REQUIRES(mutex) {
        return stopping || !urgent.empty() || !tasks.empty();
      });
      std::deque<UniqueFunction<void()>>& from = urgent.empty() ? tasks : urgent;
      if (from.empty()) {
        return;
      }
      UniqueFunction<void()> task = std::move(from.front());
      from.pop_front();
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
    const MutexLock lock(impl_->mutex);
    impl_->stopping = true;
    impl_->news.notify_one();
  }
  impl_->thread.join();
}

void BackgroundQueue::add(UniqueFunction<void()> task) {
  const MutexLock lock(impl_->mutex);
  impl_->tasks.push_back(std::move(task));
  impl_->news.notify_one();
}

void BackgroundQueue::add_urgent(UniqueFunction<void()> task) {
  const MutexLock lock(impl_->mutex);
  impl_->urgent.push_back(std::move(task));
  impl_->news.notify_one();
}

}  // namespace athanor::lab
