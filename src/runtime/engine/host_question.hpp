// SPDX-License-Identifier: Apache-2.0
// Questions that other threads ask the controllers thread.
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "base/condition_variable.hpp"
#include "base/mutex.hpp"
#include "base/time.hpp"
#include "base/unique_function.hpp"
#include "runtime/engine/engine_host.hpp"

namespace athanor::runtime {

// Asks the controllers thread, and waits for the answer; nullopt: none within `patience`.
template <class T>
std::optional<T> ask_host(EngineHost& host, Duration patience, UniqueFunction<T()> question) {
  struct Answer {
    Mutex mutex{};
    ConditionVariable there{};
    std::optional<T> value ATHANOR_GUARDED_BY(mutex){};
  };
  auto answer = std::make_shared<Answer>();
  host.post([answer, question = std::move(question)]() mutable {
    T value = question();
    const MutexLock lock(answer->mutex);
    answer->value = std::move(value);
    answer->there.notify_one();
  });
  MutexLock lock(answer->mutex);
  answer->there.wait_for(
      lock, patience, [&]() ATHANOR_REQUIRES(answer->mutex) { return answer->value.has_value(); });
  return std::move(answer->value);
}

}  // namespace athanor::runtime
