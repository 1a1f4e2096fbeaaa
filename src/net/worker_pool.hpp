// SPDX-License-Identifier: Apache-2.0
// A few threads that run tasks in a fair order (fair_queue.hpp).
#pragma once

#include <memory>

#include "net/fair_queue.hpp"

namespace athanor::net {

// Thread-safe. Tasks may block; they must not throw.
class WorkerPool {
 public:
  WorkerPool(int threads, const FairLimits& limits);
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;
  ~WorkerPool();

  // Queues a task; drops it once stop() was called.
  void submit(Flow flow, FairQueue::Task task);
  // Waits for the running tasks and drops the others.
  void stop();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace athanor::net
