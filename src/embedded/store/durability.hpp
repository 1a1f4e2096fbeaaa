// SPDX-License-Identifier: Apache-2.0
// Which revisions survive a crash, and who waits to hear of it. Thread-safe.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>

#include "base/mutex.hpp"
#include "base/result.hpp"
#include "embedded/store/listeners.hpp"
#include "embedded/store/store.hpp"

namespace athanor::store {

// The journal reports into settle(); everything else is Store's interface of the same name.
class Durability {
 public:
  explicit Durability(Revision start) : durable_(start) {}

  [[nodiscard]] Revision revision() const { return durable_.load(); }
  void when(Revision revision, std::function<void(Result<void>)> done);
  [[nodiscard]] std::shared_ptr<void> listen(std::function<void(Revision)> listener);
  // Settles all commits up to `revision`: they are on disk, or the rest could not be written.
  void settle(Revision revision, const Result<void>& outcome);

 private:
  std::atomic<Revision> durable_;
  Mutex mutex_{};
  Revision failed_through_ ATHANOR_GUARDED_BY(mutex_) =
      0;  // commits up to here and above durable_ failed
  Error failure_ ATHANOR_GUARDED_BY(mutex_){};
  std::multimap<Revision, std::function<void(Result<void>)>> waiting_ ATHANOR_GUARDED_BY(mutex_){};
  Listeners<Revision> listeners_{};
};

}  // namespace athanor::store
