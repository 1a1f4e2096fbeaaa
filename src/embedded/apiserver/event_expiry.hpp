// SPDX-License-Identifier: Apache-2.0
// Events vanish some time (--event-ttl) after their last write (spec/apiserver.md 18).
#pragma once

#include <mutex>
#include <optional>

#include "base/time.hpp"
#include "embedded/store/store.hpp"

namespace athanor::apiserver {

class EventExpiry {
 public:
  EventExpiry(store::Store& store, Duration lifetime) : store_(store), lifetime_(lifetime) {}
  // Removes what is due; looks at most once every half minute.
  void tick(Instant now);

 private:
  store::Store& store_;
  const Duration lifetime_;
  std::mutex mutex_{};
  std::optional<Instant> last_{};
};

}  // namespace athanor::apiserver
