// SPDX-License-Identifier: Apache-2.0
// Observations: what the engine knows of the world outside the API server, and which questions
// about it are under way.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/time.hpp"
#include "kube/value/kind.hpp"
#include "kube/value/object.hpp"
#include "runtime/engine/model/messages.hpp"
#include "runtime/engine/model/read_index.hpp"
#include "runtime/view/view.hpp"

namespace athanor::runtime {

// Not thread-safe: the engine owns it. Invariants: an answer without readers is kept for
// kKeptUnread at most; an answer is taken only if it belongs to the newest question of its query,
// or came unasked.
class Observations {
 public:
  static constexpr Duration kProbeInterval =
      std::chrono::milliseconds(100);  // between two probes of one query
  static constexpr Duration kKeptUnread = std::chrono::minutes(1);

  explicit Observations(ReadIndex& reads) : reads_(reads) {}

  // Returns nullptr for an unknown query.
  [[nodiscard]] const Observed* find(std::string_view query) const;
  [[nodiscard]] bool contains(std::string_view query) const { return find(query) != nullptr; }
  // Returns true if any query begins with `prefix`.
  [[nodiscard]] bool any(std::string_view prefix) const;
  // Returns the entry of a query; makes it if there is none.
  Observed& entry(const std::string& query);

  struct Taken {
    bool news = false;               // readers of the query must run
    std::optional<Duration> took{};  // since the question; nullopt: it came unasked or was dropped
  };
  // Takes an answer of the outside world.
  Taken take(const Observation& observation, Instant now);
  // Records what the engine itself found; nullopt takes it back. Returns true if it is news.
  bool record(const std::string& query, const std::optional<Error>& error, Instant now);

  // Takes what the server returned for a write as the answer to a live read of that version, for
  // kinds that have been read so (LiveQuery): the question need not be sent.
  void take_written(const Kind& kind, const Object& object, Instant now);

  // Appends a Probe for each query whose answer is older than the age that its reader accepts.
  void probe_stale(const std::vector<std::pair<std::string, Duration>>& queries, Instant now,
                   std::vector<Effect>& out);
  // Removes answers of these queries that have no readers.
  void drop_unread(const std::vector<std::string>& queries);
  // Removes old answers without readers; at most once in kKeptUnread.
  void sweep(Instant now);
  // Moves all points in time along with a step of the clock.
  void shift(Duration by);

 private:
  // The newest question of a query.
  struct Question {
    std::uint64_t id = 0;
    Instant at{};
  };

  ReadIndex& reads_;
  std::map<std::string, Observed, std::less<>> known_{};
  std::vector<std::string> maybe_unread_{};  // superset of the queries without readers
  std::map<std::string, Question, std::less<>> probed_{};
  std::set<std::pair<std::string, std::string>> read_live_{};  // groups and plurals
  std::uint64_t last_question_ = 0;
  Instant next_sweep_{};
};

}  // namespace athanor::runtime
