// SPDX-License-Identifier: Apache-2.0
// How long claims are waited for that a scheduler writes (docs/spec/das.md 8.5 step 2).
#pragma once

#include <optional>

#include "base/time.hpp"

namespace athanor::das {

// The pauses between looks for claims: 0.1 s, and twice as long each time, 3.1 s in all.
class Looks {
 public:
  // Returns the pause before the next look; nullopt: the one before was the last.
  std::optional<Duration> next() {
    if (left_-- == 0) {
      return std::nullopt;
    }
    const Duration pause = pause_;
    pause_ *= 2;
    return pause;
  }

 private:
  int left_ = 5;
  Duration pause_ = std::chrono::milliseconds(100);
};

}  // namespace athanor::das
