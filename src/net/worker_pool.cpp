// SPDX-License-Identifier: Apache-2.0
// The pool: one queue, one condition.
#include "net/worker_pool.hpp"

#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "base/contain.hpp"

namespace athanor::transport {

struct WorkerPool::State {
  explicit State(const FairLimits& limits) : queue(limits) {}

  std::mutex mutex{};
  std::condition_variable work{};
  FairQueue queue;
  bool stopping = false;
  std::vector<std::thread> threads{};

  void run() {
    std::unique_lock lock(mutex);
    while (true) {
      std::optional<FairQueue::Job> job;
      work.wait(lock, [&] {
        if (!stopping) {
          job = queue.pop(std::chrono::steady_clock::now());
        }
        return stopping || job;
      });
      if (!job) {
        return;
      }
      lock.unlock();
      static_cast<void>(contain([&] { job->task(job->overdue); }));
      job->task = {};
      lock.lock();
      queue.done(job->flow);
      if (!queue.empty()) {
        work.notify_one();  // its user may have been waiting for this one
      }
    }
  }
};

WorkerPool::WorkerPool(int threads, const FairLimits& limits)
    : state_(std::make_unique<State>(limits)) {
  for (int i = 0; i < threads; ++i) {
    state_->threads.emplace_back([state = state_.get()] { state->run(); });
  }
}

WorkerPool::~WorkerPool() {
  stop();
}

void WorkerPool::submit(Flow flow, FairQueue::Task task) {
  {
    const std::lock_guard lock(state_->mutex);
    if (state_->stopping) {
      return;
    }
    state_->queue.push(std::move(flow), std::move(task), std::chrono::steady_clock::now());
  }
  state_->work.notify_one();
}

void WorkerPool::stop() {
  {
    const std::lock_guard lock(state_->mutex);
    state_->stopping = true;
  }
  state_->work.notify_all();
  for (std::thread& thread : state_->threads) {
    thread.join();
  }
  state_->threads.clear();
  state_->queue.clear();  // tasks may hold connections: they go while nobody else looks
}

}  // namespace athanor::transport
