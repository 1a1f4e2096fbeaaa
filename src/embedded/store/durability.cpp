// SPDX-License-Identifier: Apache-2.0
// Waiting for the disk.
#include "embedded/store/durability.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/mutex.hpp"

namespace athanor::store {

void Durability::when(Revision revision, std::function<void(Result<void>)> done) {
  Result<void> outcome;
  {
    const MutexLock lock(mutex_);
    if (durable_.load() < revision) {
      if (revision > failed_through_) {
        waiting_.emplace(revision, std::move(done));
        return;
      }
      outcome = failure_;
    }
  }
  done(std::move(outcome));
}

std::shared_ptr<void> Durability::listen(std::function<void(Revision)> listener) {
  return listeners_.add(std::move(listener));
}

void Durability::settle(Revision revision, const Result<void>& outcome) {
  std::vector<std::function<void(Result<void>)>> ready;
  bool grew = false;
  {
    const MutexLock lock(mutex_);
    if (outcome.ok()) {
      grew = revision > durable_.load();
      durable_.store(std::max(durable_.load(), revision));
    } else {
      failed_through_ = std::max(failed_through_, revision);
      failure_ = outcome.error();
    }
    const auto end = waiting_.upper_bound(revision);
    for (auto it = waiting_.begin(); it != end; ++it) {
      ready.push_back(std::move(it->second));
    }
    waiting_.erase(waiting_.begin(), end);
  }
  for (const auto& done : ready) {
    done(outcome);
  }
  if (grew) {
    listeners_.call(revision);
  }
}

}  // namespace athanor::store
