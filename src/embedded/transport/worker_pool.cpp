// SPDX-License-Identifier: Apache-2.0
// The pool: one queue, one condition.
#include "embedded/transport/worker_pool.hpp"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace athanor::transport {

struct WorkerPool::State {
  std::mutex mutex{};
  std::condition_variable work{};
  std::deque<UniqueFunction<void()>> queue{};
  bool stopping = false;
  std::vector<std::thread> threads{};

  void run() {
    while (true) {
      UniqueFunction<void()> task;
      {
        std::unique_lock lock(mutex);
        work.wait(lock, [this] { return stopping || !queue.empty(); });
        if (stopping) {
          return;
        }
        task = std::move(queue.front());
        queue.pop_front();
      }
      task();
    }
  }
};

WorkerPool::WorkerPool(int threads) : state_(std::make_unique<State>()) {
  for (int i = 0; i < threads; ++i) {
    state_->threads.emplace_back([state = state_.get()] { state->run(); });
  }
}

WorkerPool::~WorkerPool() {
  stop();
}

void WorkerPool::submit(UniqueFunction<void()> task) {
  {
    const std::lock_guard lock(state_->mutex);
    if (state_->stopping) {
      return;
    }
    state_->queue.push_back(std::move(task));
  }
  state_->work.notify_one();
}

void WorkerPool::stop() {
  std::deque<UniqueFunction<void()>> dropped;
  {
    const std::lock_guard lock(state_->mutex);
    state_->stopping = true;
    dropped.swap(state_->queue);
  }
  state_->work.notify_all();
  for (std::thread& thread : state_->threads) {
    thread.join();
  }
  state_->threads.clear();
}

}  // namespace athanor::transport
