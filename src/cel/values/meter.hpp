// SPDX-License-Identifier: Apache-2.0
// What one evaluation has used, and its limits. Two prices run side by side, and the higher one
// counts: the cost that Kubernetes would count, and ticks for what is really done (nodes evaluated,
// items compared, bytes read and made). So an expression costs what it costs in Kubernetes, except
// where that price misses the work. Deterministic: no clock. One evaluation's: not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include "base/cancellation.hpp"

namespace athanor::cel {

class Meter {
 public:
  static constexpr std::uint64_t kTicksPerUnit = 40;  // a unit is 50 ns
  static constexpr std::uint64_t kNode = 16;          // an expression's node
  static constexpr std::uint64_t kItem = 8;           // an item that is visited or compared

  struct Limits {
    std::uint64_t cost = std::numeric_limits<std::uint64_t>::max();
    std::size_t bytes = std::numeric_limits<std::size_t>::max();
  };

  Meter() = default;
  explicit Meter(Limits limits) : limits_(limits) {}

  // Adds what Kubernetes counts. May throw Cancelled, as the next three.
  void charge(std::uint64_t cost) {
    give_up_if_cancelled();
    cost_ = sum(cost_, cost);
  }
  // Adds work. Returns false when the limits are passed: the caller ends its loop, and what it
  // returns is dropped.
  bool tick(std::uint64_t ticks) {
    give_up_if_cancelled();
    ticks_ = sum(ticks_, ticks);
    return !over();
  }
  // Adds bytes of a value that was made.
  bool make(std::size_t bytes) {
    made_ = sum(made_, bytes);
    return tick(bytes);
  }
  // Returns false if a value of that size would pass the limits; its evaluation is over then.
  bool room(std::size_t bytes) {
    if (sum(made_, bytes) > limits_.bytes || sum(ticks_, bytes) / kTicksPerUnit > limits_.cost) {
      refused_ = true;
    }
    return !over();
  }

  [[nodiscard]] bool over() const {
    return refused_ || made_ > limits_.bytes || cost() > limits_.cost;
  }
  // Returns true if the bytes, not the cost, ended the evaluation.
  [[nodiscard]] bool too_large() const { return over() && cost() <= limits_.cost; }
  [[nodiscard]] std::uint64_t cost() const {
    const std::uint64_t work = ticks_ / kTicksPerUnit;
    return cost_ > work ? cost_ : work;
  }
  [[nodiscard]] std::size_t made() const { return made_; }

 private:
  static std::uint64_t sum(std::uint64_t a, std::uint64_t b) {
    constexpr auto kMost = std::numeric_limits<std::uint64_t>::max();
    return b > kMost - a ? kMost : a + b;
  }

  Limits limits_{};
  std::uint64_t cost_ = 0;
  std::uint64_t ticks_ = 0;
  std::uint64_t made_ = 0;
  bool refused_ = false;
};

}  // namespace athanor::cel
