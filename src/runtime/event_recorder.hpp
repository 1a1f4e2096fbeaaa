// SPDX-License-Identifier: Apache-2.0
// EventRecorder: Emit steps as core/v1 Event objects; equal ones raise a count.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>

#include "base/clock.hpp"
#include "base/time.hpp"
#include "runtime/view/plan.hpp"
#include "runtime/write_request.hpp"

namespace athanor::runtime {

// Not thread-safe: the engine owns it. Remembers the newest kRemembered events; an older one that
// comes again is made anew.
class EventRecorder {
 public:
  static constexpr std::size_t kRemembered = 4096;  // as many as client-go's correlator keeps

  explicit EventRecorder(Entropy& entropy) : entropy_(entropy) {}
  // The request that records this event: a new Event, or a higher count of the last equal one about
  // the object.
  WriteRequest record(const Emit& step, std::string_view uid, std::string_view component,
                      Instant now);
  // The Event is gone (expired): an equal one is made anew.
  void forget(const Key& event);

 private:
  struct Known {
    Key key{};
    std::int64_t count = 1;
  };
  Entropy& entropy_;
  std::map<std::string, Known, std::less<>> known_{};  // by what makes two events equal
  std::deque<std::string> order_{};
};

}  // namespace athanor::runtime
