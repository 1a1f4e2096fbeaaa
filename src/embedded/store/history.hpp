// SPDX-License-Identifier: Apache-2.0
// The past on disk: which events the database keeps, and how a group of them looks as a row.
//
// A row holds the events of one transaction. An event names the revision of the state before it
// and carries that state only when it lies more than kNear revisions back. So a reader that starts
// kNear revisions early finds every state it needs on its way.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/time.hpp"
#include "embedded/store/store.hpp"

namespace athanor::store {

// How far back a state may lie that an event does not carry itself, in revisions.
inline constexpr Revision kNear = 4096;

// A row being made: its bytes, and where in them each event's object lies as JSON.
class HistoryWriter {
 public:
  // States up to `begin` are in no row: events that need one carry it.
  void clear() {
    bytes_.clear();
    bodies_.clear();
  }
  void add(const Event& event, Revision begin);
  [[nodiscard]] const std::string& bytes() const { return bytes_; }
  [[nodiscard]] std::string_view body(std::size_t event) const {
    return std::string_view(bytes_).substr(bodies_[event].offset, bodies_[event].size);
  }

 private:
  struct Place {
    std::size_t offset = 0;
    std::size_t size = 0;
  };
  std::string bytes_{};
  std::vector<Place> bodies_{};
};

// Collects the events of one resource from rows that are read in order.
class HistoryReader {
 public:
  // Events with after < revision <= until.
  HistoryReader(std::string_view resource, Revision after, Revision until)
      : resource_(resource), after_(after), until_(until) {}
  // Returns the revision that the first row has to hold, if there is a row.
  [[nodiscard]] Revision start() const { return after_ > kNear ? after_ - kNear : 0; }
  // Adds a row. Errors: the bytes are no row.
  Result<void> add(std::string_view row);
  [[nodiscard]] std::vector<EventPtr> take() { return std::move(events_); }

 private:
  std::string_view resource_;
  Revision after_;
  Revision until_;
  std::map<Key, StoredPtr> states_{};  // newest state of each object so far
  std::vector<EventPtr> events_{};
};

// How much is kept: at most max_bytes; within them, what is younger than `age` and the newest
// `events` (docs/spec/apiserver.md 19.5).
struct HistoryLimits {
  std::int64_t max_bytes = std::int64_t{256} << 20;
  std::size_t events = 10'000;
  Duration age = std::chrono::minutes(5);
};

// Which rows there are. Not thread-safe.
class HistoryIndex {
 public:
  struct Row {
    Revision newest = 0;
    std::uint32_t events = 0;
    std::uint32_t bytes = 0;
    Instant time{};
  };
  void add(const Row& row);
  // Forgets rows beyond the limits, about `step` bytes at a time; the newest revision among them,
  // or 0 when there is none.
  Revision prune(const HistoryLimits& limits, Instant now, std::size_t step);
  [[nodiscard]] std::size_t rows() const { return rows_.size(); }

 private:
  std::deque<Row> rows_{};
  std::size_t events_ = 0;
  std::int64_t bytes_ = 0;
};

}  // namespace athanor::store
