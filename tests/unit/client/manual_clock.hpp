// SPDX-License-Identifier: Apache-2.0
// A clock that tests move.
#pragma once

#include "base/clock.hpp"

namespace athanor::client {

class ManualClock final : public Clock {
 public:
  [[nodiscard]] Instant now() const override { return now_; }
  void advance(Duration duration) { now_ += duration; }

 private:
  Instant now_ = *parse_time("2026-11-20T10:00:00Z");
};

}  // namespace athanor::client
