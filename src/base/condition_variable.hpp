// SPDX-License-Identifier: Apache-2.0
// ConditionVariable: a condition variable for Mutex.
#pragma once

#include <condition_variable>
#include <utility>

#include "base/mutex.hpp"

namespace athanor {

// Predicates run with the lock held; ATHANOR_REQUIRES at the lambda declares that to the analysis:
//   news.wait(lock, [this]() ATHANOR_REQUIRES(mutex) { return stopping; });
class ConditionVariable {
 public:
  void notify_one() noexcept { native_.notify_one(); }
  void notify_all() noexcept { native_.notify_all(); }

  template <class Predicate>
  void wait(MutexLock<Mutex>& lock, Predicate predicate) ATHANOR_NO_THREAD_ANALYSIS {
    native_.wait(lock.native(), std::move(predicate));
  }
  // Returns early, as std::condition_variable does.
  template <class Period>
  std::cv_status wait_for(MutexLock<Mutex>& lock, const Period& period) {
    return native_.wait_for(lock.native(), period);
  }
  // Returns false if the time is over and the predicate is still false.
  template <class Period, class Predicate>
  bool wait_for(MutexLock<Mutex>& lock, const Period& period,
                Predicate predicate) ATHANOR_NO_THREAD_ANALYSIS {
    return native_.wait_for(lock.native(), period, std::move(predicate));
  }

 private:
  std::condition_variable native_{};
};

}  // namespace athanor
