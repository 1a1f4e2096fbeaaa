// SPDX-License-Identifier: Apache-2.0
// The pool: one queue, one condition.
#include "net/worker_pool.hpp"

#include <thread>
#include <utility>
#include <vector>

#include "base/condition_variable.hpp"
#include "base/contain.hpp"
#include "base/mutex.hpp"

namespace athanor::net {

struct WorkerPool::State {
  explicit State(const FairLimits& limits) : queue(limits) {}

  Mutex mutex{};
  ConditionVariable work{};
  FairQueue queue ATHANOR_GUARDED_BY(mutex);
  bool stopping ATHANOR_GUARDED_BY(mutex) = false;
  std::vector<std::thread> threads{};

  void run() {
    MutexLock lock(mutex);
    while (true) {
      std::optional<FairQueue::Job> job;
      work.wait(lock, [&]() ATHANOR_REQUIRES(mutex) {
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
    const MutexLock lock(state_->mutex);
    if (state_->stopping) {
      return;
    }
    state_->queue.push(std::move(flow), std::move(task), std::chrono::steady_clock::now());
  }
  state_->work.notify_one();
}

void WorkerPool::stop() {
  {
    const MutexLock lock(state_->mutex);
    state_->stopping = true;
  }
  state_->work.notify_all();
  for (std::thread& thread : state_->threads) {
    thread.join();
  }
  state_->threads.clear();
  state_->mutex.assert_held();  // in effect: no other thread is left
  state_->queue.clear();        // not under the mutex: tasks may hold connections
}

}  // namespace athanor::net
