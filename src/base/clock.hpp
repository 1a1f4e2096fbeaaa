// SPDX-License-Identifier: Apache-2.0
// Where time and randomness come from: injected, so that one seed replays a run.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/time.hpp"

namespace athanor {

// Source of the current instant. Thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;
  [[nodiscard]] virtual Instant now() const = 0;
};

// Source of random bits. Thread-safe.
class Entropy {
 public:
  virtual ~Entropy() = default;
  virtual std::uint64_t next() = 0;

  // Returns a lower-case uuid v4.
  std::string uuid();
  // Returns a lower-case text of the form of a uuid v4 for an object created at `now`: texts of
  // later microseconds sort behind, because its first 60 bits are the time. The rest is random.
  std::string uuid_at(Instant now);
  // Returns five characters of generateName's alphabet (bcdfghjklmnpqrstvwxz2456789).
  std::string name_suffix();
};

// Returns the system's clock, or its randomness.
std::unique_ptr<Clock> wall_clock();
std::unique_ptr<Entropy> system_entropy();
// Returns a deterministic sequence for tests and simulation.
std::unique_ptr<Entropy> seeded_entropy(std::uint64_t seed);

}  // namespace athanor
