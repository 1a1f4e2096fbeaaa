// SPDX-License-Identifier: Apache-2.0
#include "agent/node/queue_thread.hpp"

#include <map>
#include <thread>
#include <utility>

#include "base/condition_variable.hpp"
#include "base/mutex.hpp"

namespace athanor::agent {

struct QueueThread::State {
  using Clock = std::chrono::steady_clock;

  void run() {
    MutexLock lock(mutex);
    while (!stopping) {
      if (tasks.empty()) {
        news.wait(lock, [this]() ATHANOR_REQUIRES(mutex) { return stopping || !tasks.empty(); });
      } else if (tasks.begin()->first > Clock::now()) {
        news.wait_for(lock, tasks.begin()->first - Clock::now());
      } else {
        auto node = tasks.extract(tasks.begin());
        lock.unlock();
        node.mapped()();
        node.mapped() = nullptr;  // what it holds goes before the next one runs
        lock.lock();
      }
    }
  }

  Mutex mutex{};
  ConditionVariable news{};
  // Equal times: in order.
  std::multimap<Clock::time_point, std::function<void()>> tasks ATHANOR_GUARDED_BY(mutex){};
  bool stopping ATHANOR_GUARDED_BY(mutex) = false;
  std::thread thread{};
};

QueueThread::QueueThread() : state_(std::make_unique<State>()) {
  state_->thread = std::thread([state = state_.get()] { state->run(); });
}

QueueThread::~QueueThread() {
  stop();
}

bool QueueThread::add(std::function<void()> task) {
  return add_in(std::chrono::milliseconds(0), std::move(task));
}

bool QueueThread::add_in(std::chrono::milliseconds delay, std::function<void()> task) {
  const MutexLock lock(state_->mutex);
  if (state_->stopping || state_->tasks.size() >= kMost) {
    return false;
  }
  state_->tasks.emplace(State::Clock::now() + delay, std::move(task));
  state_->news.notify_one();
  return true;
}

void QueueThread::stop() {
  {
    const MutexLock lock(state_->mutex);
    state_->stopping = true;
    state_->news.notify_one();
  }
  if (state_->thread.joinable()) {
    state_->thread.join();
  }
  const MutexLock lock(state_->mutex);
  state_->tasks.clear();
}

}  // namespace athanor::agent
