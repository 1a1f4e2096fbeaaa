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
  struct Task {
    std::function<void()> run{};
    std::function<void()> dropped{};
  };

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
        node.mapped().run();
        node.mapped() = {};  // what it holds goes before the next one runs
        lock.lock();
      }
    }
  }

  bool add(std::chrono::milliseconds delay, Task task) {
    const MutexLock lock(mutex);
    if (stopping || tasks.size() >= kMost) {
      return false;
    }
    tasks.emplace(Clock::now() + delay, std::move(task));
    news.notify_one();
    return true;
  }

  Mutex mutex{};
  ConditionVariable news{};
  // Equal times: in order.
  std::multimap<Clock::time_point, Task> tasks ATHANOR_GUARDED_BY(mutex){};
  bool stopping ATHANOR_GUARDED_BY(mutex) = false;
  std::thread thread{};
};

QueueThread::QueueThread() : state_(std::make_unique<State>()) {
  state_->thread = std::thread([state = state_.get()] { state->run(); });
}

QueueThread::~QueueThread() {
  stop();
}

bool QueueThread::add(std::function<void()> task, std::function<void()> dropped) {
  return state_->add(std::chrono::milliseconds(0),
                     {.run = std::move(task), .dropped = std::move(dropped)});
}

bool QueueThread::add_in(std::chrono::milliseconds delay, std::function<void()> task) {
  return state_->add(delay, {.run = std::move(task)});
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
  std::multimap<State::Clock::time_point, State::Task> rest;
  {
    const MutexLock lock(state_->mutex);
    rest.swap(state_->tasks);
  }
  for (const auto& [due, task] : rest) {
    if (task.dropped) {
      task.dropped();
    }
  }
}

}  // namespace athanor::agent
