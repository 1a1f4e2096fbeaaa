// SPDX-License-Identifier: Apache-2.0
#include "embedded/apiserver/request/revision_waits.hpp"

#include <utility>

#include "base/mutex.hpp"
#include "embedded/apiserver/request/call.hpp"

namespace athanor::apiserver {

RevisionWaits::RevisionWaits(store::Store& store) : store_(store) {
  listening_ = store_.listen([this](std::span<const store::EventPtr> events) {
    if (waiting_.load() > 0 && !events.empty()) {
      reached(events.back()->revision);
    }
  });
}

RevisionWaits::~RevisionWaits() {
  listening_.reset();
}

void RevisionWaits::wait(store::Revision revision, Instant deadline, UniqueFunction<void()> done) {
  {
    // Counted before the store is asked: a commit in between sees the count, and waits here.
    const MutexLock lock(mutex_);
    ++waiting_;
    if (!ended_ && store_.revision() < revision) {
      waiters_.emplace(revision, Waiter{.deadline = deadline, .done = std::move(done)});
      return;
    }
    --waiting_;
  }
  done();
}

void RevisionWaits::reached(store::Revision revision) {
  std::vector<UniqueFunction<void()>> ready;
  {
    const MutexLock lock(mutex_);
    const auto behind = waiters_.upper_bound(revision);
    for (auto it = waiters_.begin(); it != behind; ++it) {
      ready.push_back(std::move(it->second.done));
    }
    waiters_.erase(waiters_.begin(), behind);
    waiting_ -= ready.size();
  }
  for (auto& done : ready) {
    done();
  }
}

void RevisionWaits::tick(Instant now) {
  std::vector<UniqueFunction<void()>> over;
  {
    const MutexLock lock(mutex_);
    for (auto it = waiters_.begin(); it != waiters_.end();) {
      if (it->second.deadline <= now) {
        over.push_back(std::move(it->second.done));
        it = waiters_.erase(it);
      } else {
        ++it;
      }
    }
    waiting_ -= over.size();
  }
  for (auto& done : over) {
    done();
  }
}

void RevisionWaits::end() {
  {
    const MutexLock lock(mutex_);
    ended_ = true;
  }
  tick(Instant::max());
}

StatusResult<void> await_revision(Call& call, store::Revision revision) {
  const store::Revision current = call.core.store.revision();
  if (revision <= current) {
    return {};
  }
  // The reference has no cache of Events: etcd itself refuses, at once, and without advice.
  if (call.resource->plural == "events") {
    StatusError refusal = status::future_revision(revision, current);
    refusal.details->retry_after_seconds.reset();
    return refusal;
  }
  if (call.conversation.wait_for(revision)) {
    return status::pending();
  }
  return status::future_revision(revision, current);
}

}  // namespace athanor::apiserver
