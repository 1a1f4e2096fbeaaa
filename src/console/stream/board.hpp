// SPDX-License-Identifier: Apache-2.0
// Board: keeps the tables up to date and tells viewers what changed: rows are compared once,
// however many viewers there are, at most five times a second (docs/spec/dashboard.md B5).
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "base/clock.hpp"
#include "console/stream/tables.hpp"
#include "net/http.hpp"

namespace athanor::console {

// Topics and rights of a viewer.
struct Subscription {
  std::set<std::string, std::less<>> topics{};
  std::string last_id{};  // of the last message received; empty: from now on
  // Returns true if the viewer may see a row of the topic.
  std::function<bool(std::string_view topic, const Value& row)> may_see{};
  // Returns a row of the topic without the names that the viewer may not see.
  std::function<Value(std::string_view topic, const Value& row)> shown{};
  // Returns false once the viewer's session is over; called on the board's thread, must be quick.
  std::function<bool()> is_valid{};
  // When the stream closes, so that the browser comes back and what it may see is asked again.
  std::optional<std::chrono::steady_clock::time_point> ends_at{};
};

// Thread-safe.
class Board {
 public:
  // Jobs of the history; called on any thread.
  using Archived = std::function<std::shared_ptr<const Rows>()>;

  // Requires that all outlive it.
  Board(World& world, const Settings& settings, const Clock& clock, Archived archived);
  Board(const Board&) = delete;
  Board& operator=(const Board&) = delete;
  ~Board();

  // Starts its thread. Ends with stop().
  void start();
  void stop();

  // Notes that something changed.
  void touch();
  // Returns the tables of the present state.
  [[nodiscard]] std::shared_ptr<const Tables> tables();
  // Opens a stream of server-sent events.
  [[nodiscard]] std::unique_ptr<net::Stream> subscribe(Subscription subscription);
  [[nodiscard]] std::size_t viewers() const;
  // Returns when the last viewer left or asked.
  [[nodiscard]] Instant last_use() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace athanor::console
