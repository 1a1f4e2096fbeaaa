// SPDX-License-Identifier: Apache-2.0
// Which request goes next: lanes of priority behind a token bucket and a bound on what is in
// flight. A machine without a clock.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

#include "client/api_client.hpp"

namespace athanor::client {

using SteadyTime = std::chrono::steady_clock::time_point;

// `burst` tokens at once, `qps` more each second. qps 0: no limit.
class TokenBucket {
 public:
  TokenBucket(double qps, double burst) : qps_(qps), burst_(burst), tokens_(burst) {}

  // Takes one if there is one.
  bool take(SteadyTime now);
  void give_back();
  // Returns the time from which on there is one again (not before `now`).
  [[nodiscard]] SteadyTime ready_at(SteadyTime now) const;

 private:
  [[nodiscard]] double tokens_at(SteadyTime now) const;

  double qps_;
  double burst_;
  double tokens_;
  std::optional<SteadyTime> counted_at_{};
};

// Limits of a Dispatcher; the rate in requests a second.
struct DispatcherOptions {
  double qps = 50;
  double burst = 100;
  std::size_t max_in_flight = 128;  // of all lanes but Lease
  std::size_t max_queued = 100'000;
};

// A request that begins now.
struct Turn {
  Lane lane = Lane::Normal;
  std::uint64_t id = 0;
};

// Not thread-safe. Ids are the caller's.
class Dispatcher {
 public:
  explicit Dispatcher(const DispatcherOptions& options)
      : options_(options), bucket_(options.qps, options.burst) {}

  // Queues a request. Returns false when too many wait already.
  bool add(Lane lane, std::uint64_t id);
  // Returns the request to begin now; it counts as in flight (unless a Lease's) until ended().
  // Takes requests of one lane in the order of add().
  std::optional<Turn> next(SteadyTime now);
  void ended(Lane lane);
  // Undoes a next() whose request was not sent after all: its token is given back, too.
  void skipped(Lane lane);
  // Returns when next() may answer by itself; nullopt: none waits, or ended() must come first.
  [[nodiscard]] std::optional<SteadyTime> next_at(SteadyTime now) const;
  [[nodiscard]] std::size_t queued() const { return queued_; }

 private:
  static constexpr std::size_t kLanes = 4;
  [[nodiscard]] static std::size_t index(Lane lane) { return static_cast<std::size_t>(lane); }

  DispatcherOptions options_;
  TokenBucket bucket_;
  std::array<std::deque<std::uint64_t>, kLanes> lanes_{};
  std::size_t queued_ = 0;
  std::size_t in_flight_ = 0;
};

}  // namespace athanor::client
