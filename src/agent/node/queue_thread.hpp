// SPDX-License-Identifier: Apache-2.0
// QueueThread: a thread that runs tasks one after another, at once or later.
#pragma once

#include <chrono>
#include <functional>
#include <memory>

namespace athanor::agent {

// Thread-safe.
class QueueThread {
 public:
  static constexpr std::size_t kMost = 4096;  // tasks that wait; a node has fewer devices

  QueueThread();
  QueueThread(const QueueThread&) = delete;
  QueueThread& operator=(const QueueThread&) = delete;
  ~QueueThread();  // stops

  // Returns false where it was stopped or too many tasks wait; neither function is called then.
  // `dropped` is called instead of the task if stop() comes before its turn.
  bool add(std::function<void()> task, std::function<void()> dropped = {});
  bool add_in(std::chrono::milliseconds delay, std::function<void()> task);
  // Waits for the task that runs, and drops the rest.
  void stop();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace athanor::agent
