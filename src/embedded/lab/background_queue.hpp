// SPDX-License-Identifier: Apache-2.0
// BackgroundQueue: tasks that may block (files, processes), one after another on a thread of their
// own.
#pragma once

#include <memory>

#include "base/unique_function.hpp"

namespace athanor::lab {

// Thread-safe.
class BackgroundQueue {
 public:
  BackgroundQueue();
  ~BackgroundQueue();  // finishes what is queued
  BackgroundQueue(const BackgroundQueue&) = delete;
  BackgroundQueue& operator=(const BackgroundQueue&) = delete;
  void add(UniqueFunction<void()> task);
  // Adds a task before the others that wait, behind earlier urgent ones.
  void add_urgent(UniqueFunction<void()> task);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace athanor::lab
