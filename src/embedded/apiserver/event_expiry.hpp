// SPDX-License-Identifier: Apache-2.0
// Events vanish an hour after their last write (spec/apiserver.md 18).
#pragma once

#include <mutex>
#include <optional>

#include "base/time.hpp"
#include "embedded/store/store.hpp"

namespace athanor::apiserver {

class EventExpiry {
 public:
  explicit EventExpiry(store::Store& store) : store_(store) {}
  // Removes what is due; looks at most once every half minute.
  void tick(Instant now);

 private:
  store::Store& store_;
  std::mutex mutex_{};
  std::optional<Instant> last_{};
};

}  // namespace athanor::apiserver
