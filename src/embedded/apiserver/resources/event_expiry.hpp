// SPDX-License-Identifier: Apache-2.0
// Events vanish some time (--event-ttl) after their last write (docs/spec/apiserver.md 18).
#pragma once

#include <deque>
#include <utility>

#include "base/time.hpp"
#include "embedded/store/store.hpp"

namespace athanor::apiserver {

// The store must outlive it.
class EventExpiry {
 public:
  EventExpiry(store::Store& store, Duration lifetime) : store_(store), lifetime_(lifetime) {}
  // Removes what is due; looks at most once every half minute. One thread calls it.
  void tick(Instant now);

 private:
  // Removes those written up to `until` that `due` selects.
  template <class Due>
  void remove(store::Revision until, Instant now, const Due& due);

  store::Store& store_;
  const Duration lifetime_;
  // How far the store was at which time; as far back as events live. The first is from the start:
  // older ones carry their own time.
  std::deque<std::pair<Instant, store::Revision>> samples_{};
};

}  // namespace athanor::apiserver
