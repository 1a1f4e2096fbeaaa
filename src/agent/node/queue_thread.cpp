// SPDX-License-Identifier: Apache-2.0
#include "agent/node/queue_thread.hpp"

#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

namespace athanor::agent {

struct QueueThread::State {
  using Clock = std::chrono::steady_clock;

  void run() {
    std::unique_lock lock(mutex);
    while (!stopping) {
      if (tasks.empty()) {
        news.wait(lock);
      } else if (tasks.begin()->first > Clock::now()) {
        news.wait_until(lock, tasks.begin()->first);
      } else {
        auto node = tasks.extract(tasks.begin());
        lock.unlock();
        node.mapped()();
        node.mapped() = nullptr;  // what it holds goes before the next one runs
        lock.lock();
      }
    }
  }

  std::mutex mutex{};  // guards tasks and stopping
  std::condition_variable news{};
  std::multimap<Clock::time_point, std::function<void()>> tasks{};  // equal times: in order
  bool stopping = false;
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
  const std::scoped_lock lock(state_->mutex);
  if (state_->stopping || state_->tasks.size() >= kMost) {
    return false;
  }
  state_->tasks.emplace(State::Clock::now() + delay, std::move(task));
  state_->news.notify_one();
  return true;
}

void QueueThread::stop() {
  {
    const std::scoped_lock lock(state_->mutex);
    state_->stopping = true;
    state_->news.notify_one();
  }
  if (state_->thread.joinable()) {
    state_->thread.join();
  }
  state_->tasks.clear();
}

}  // namespace athanor::agent
