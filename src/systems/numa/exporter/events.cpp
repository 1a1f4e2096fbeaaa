// SPDX-License-Identifier: Apache-2.0
#include "systems/numa/exporter/events.hpp"

#include <algorithm>

namespace athanor::numa {

Instant EventSource::allowed(Instant now) const {
  if (most_ == 0 || taken_.size() < static_cast<std::size_t>(most_)) {
    return now;
  }
  return std::max(now, taken_[taken_.size() - static_cast<std::size_t>(most_)] + unit_);
}

std::optional<Trigger> EventSource::take(Instant now) {
  // After a step of the clock into the past the future events count as now.
  for (Instant& time : taken_) {
    time = std::min(time, now);
  }
  while (!taken_.empty() && taken_.front() + unit_ <= now) {
    taken_.pop_front();
  }
  if (timer_ && interval_ > Duration(0) && *timer_ > now + interval_) {
    timer_ = now + interval_;
  }
  const bool rings = timer_ && *timer_ <= now;
  if ((!rings && pending_ == 0) || allowed(now) > now) {
    return std::nullopt;
  }
  if (most_ > 0) {
    taken_.push_back(now);
  }
  if (rings) {
    timer_ = interval_ > Duration(0) ? std::optional(now + interval_) : std::nullopt;
    return Trigger::Periodic;
  }
  --pending_;
  return Trigger::Reactive;
}

std::optional<Instant> EventSource::due(Instant now) const {
  std::optional<Instant> due = timer_;
  if (pending_ > 0) {
    due = due ? std::min(*due, now) : now;
  }
  return due ? std::optional(std::max(*due, allowed(now))) : std::nullopt;
}

}  // namespace athanor::numa
