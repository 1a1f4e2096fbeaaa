// SPDX-License-Identifier: Apache-2.0
// EventRecorder: Emit steps as core/v1 Event objects; equal ones raise a count.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "base/time.hpp"
#include "runtime/engine/model/write_request.hpp"
#include "runtime/view/plan.hpp"

namespace athanor::runtime {

// Not thread-safe: the engine owns it. Remembers the newest kRemembered events; an older one that
// comes again is made anew.
class EventRecorder {
 public:
  struct Author {
    std::string_view component{};
    std::string_view manager{};
  };
  static constexpr std::size_t kRemembered = 4096;  // as many as client-go's correlator keeps

  explicit EventRecorder(Entropy& entropy) : entropy_(entropy) {}
  // Returns the request that records this event: a new Event, or a higher count of the last equal
  // one about the object.
  WriteRequest record(const Emit& step, std::string_view uid, const Author& author, Instant now);
  // Forgets an Event that is gone (expired): an equal one is made anew.
  void forget(const Key& event);

 private:
  // Without a text: an Event's name follows from its object's and `suffix`.
  struct Known {
    std::uint64_t identity = 0;  // second half of the digest
    std::uint64_t suffix = 0;
    std::int64_t count = 0;  // 0: forgotten
  };
  Entropy& entropy_;
  std::vector<std::uint64_t> identities_{};  // first half of the digest of what makes events equal
  std::vector<Known> known_{};
  std::size_t oldest_ = 0;  // the place of the next one when all are taken
};

}  // namespace athanor::runtime
