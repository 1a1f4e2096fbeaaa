// SPDX-License-Identifier: Apache-2.0
// A few threads that run tasks in the order they came.
#pragma once

#include <memory>

#include "base/unique_function.hpp"

namespace athanor::transport {

// Thread-safe. Tasks may block; they must not throw.
class WorkerPool {
 public:
  explicit WorkerPool(int threads);
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;
  ~WorkerPool();

  // Dropped once stop() was called.
  void submit(UniqueFunction<void()> task);
  // Waits for the running tasks and drops the others.
  void stop();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace athanor::transport
