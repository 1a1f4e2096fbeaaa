// SPDX-License-Identifier: Apache-2.0
// KeyQueue: which tasks are ready now, and which become so later.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory_resource>
#include <optional>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/time.hpp"
#include "runtime/engine/model/task.hpp"

namespace athanor::runtime {

// Not thread-safe: the engine owns it. A task is queued at most once; interactive ones come first,
// else first come first served. A task asleep twice keeps the earlier wake-up.
class KeyQueue {
 public:
  // Makes a task ready now; returns false if it was already. A resync entry that is added as
  // interactive moves up. O(log n).
  bool add(TaskId id, Priority priority, Instant now);
  // Makes a task ready at `when`; keeps the earlier of two.
  void sleep(TaskId id, Instant when);
  // Forgets the wake-up of a task.
  void cancel(TaskId id);
  // Makes those ready whose time has come; their ids.
  std::vector<TaskId> wake(Instant now);
  // Makes all that sleep ready; their ids.
  std::vector<TaskId> wake_all(Instant now);
  struct Taken {
    TaskId id = 0;
    Instant since{};  // when it became ready
  };
  // Takes the next ready task; with `shuffle` any of the ready ones.
  std::optional<Taken> take(Entropy* shuffle);
  [[nodiscard]] std::optional<Instant> next_wake() const;
  [[nodiscard]] std::size_t ready() const { return order_.size(); }
  [[nodiscard]] bool is_ready(TaskId id) const { return places_.contains(id); }
  [[nodiscard]] std::optional<Instant> ready_since(TaskId id) const;
  [[nodiscard]] std::optional<Instant> wake_of(TaskId id) const;

 private:
  struct Place {
    Priority priority = Priority::Interactive;
    std::uint64_t sequence = 0;
    Instant since{};
  };
  std::vector<TaskId> wake_until(Instant end, Instant now);

  // At the start every key is ready once: what that took lies together, and is given back when
  // nothing is ready any more.
  std::pmr::unsynchronized_pool_resource memory_{};
  std::pmr::set<std::tuple<Priority, std::uint64_t, TaskId>> order_{&memory_};
  std::pmr::map<TaskId, Place> places_{&memory_};
  std::size_t most_ready_ = 0;  // since then
  std::set<std::pair<Instant, TaskId>> sleepers_{};
  std::unordered_map<TaskId, Instant> wakes_{};
  std::uint64_t sequence_ = 0;
};

}  // namespace athanor::runtime
