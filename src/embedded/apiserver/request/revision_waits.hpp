// SPDX-License-Identifier: Apache-2.0
// Readers that want a state which is still to come (docs/spec/apiserver.md 8.1, 8.2): they wait a
// while for its revision, without a thread.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <vector>

#include "base/mutex.hpp"
#include "base/time.hpp"
#include "base/unique_function.hpp"
#include "embedded/kinds/status_error.hpp"
#include "embedded/store/store.hpp"

namespace athanor::apiserver {

struct Call;  // call.hpp

// How long a reader waits.
inline constexpr std::chrono::seconds kRevisionWait{3};

// Thread-safe.
class RevisionWaits {
 public:
  explicit RevisionWaits(store::Store& store);
  ~RevisionWaits();
  RevisionWaits(const RevisionWaits&) = delete;
  RevisionWaits& operator=(const RevisionWaits&) = delete;

  // Runs `done` once: when the store has got to `revision` (at once if it has), at `deadline`, or
  // at the end. It may run on a thread that commits and must not block.
  void wait(store::Revision revision, Instant deadline, UniqueFunction<void()> done);
  // Releases those whose time is over.
  void tick(Instant now);
  // Releases all waiting requests, and later ones at once.
  void end();

 private:
  struct Waiter {
    Instant deadline{};
    UniqueFunction<void()> done{};
  };
  void reached(store::Revision revision);

  store::Store& store_;
  std::atomic<std::size_t> waiting_{0};  // commits look at it before they take the lock
  Mutex mutex_{};                        // guards what follows
  std::multimap<store::Revision, Waiter> waiters_ ATHANOR_GUARDED_BY(mutex_){};
  bool ended_ ATHANOR_GUARDED_BY(mutex_) = false;
  std::shared_ptr<void> listening_{};
};

// Returns ok when the store has got to `revision`. Else the request waits for it
// (status::pending()), unless it has, or the reference does not keep the resource's newest state in
// memory, or the caller cannot wait: then it is refused with status::future_revision().
StatusResult<void> await_revision(Call& call, store::Revision revision);

}  // namespace athanor::apiserver
