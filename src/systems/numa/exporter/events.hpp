// SPDX-License-Identifier: Apache-2.0
// When the exporter runs a round (docs/spec/numa.md 9.9): at its start, at the timer, when the
// notify file was touched; at most so many times in a second.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>

#include "base/time.hpp"
#include "systems/numa/exporter/round.hpp"

namespace athanor::numa {

// Not thread-safe: the loop owns it. Times are of any steady clock.
class EventSource {
 public:
  // Sets no timer for an `interval` of 0. Allows `most` events in a `unit`, 0: no limit.
  EventSource(Duration interval, std::int64_t most, Duration unit, Instant start)
      : interval_(interval), most_(most), unit_(unit), timer_(start) {}

  // Notes a touch of the notify file. Beyond the rate it waits in a short queue; more is dropped.
  void notified() { pending_ = pending_ < kBuffer ? pending_ + 1 : kBuffer; }
  // Takes the event that is due now.
  [[nodiscard]] std::optional<Trigger> take(Instant now);
  // Returns when take() may next have one; nullopt: only after notified().
  [[nodiscard]] std::optional<Instant> due(Instant now) const;

  static constexpr int kBuffer = 5;

 private:
  // Returns when the rate allows another event.
  [[nodiscard]] Instant allowed(Instant now) const;

  Duration interval_;
  std::int64_t most_;
  Duration unit_;
  std::optional<Instant> timer_;  // nullopt: it does not ring any more
  int pending_ = 0;
  std::deque<Instant> taken_{};  // events of the last unit, the oldest first
};

}  // namespace athanor::numa
