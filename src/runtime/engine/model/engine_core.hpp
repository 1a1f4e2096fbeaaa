// SPDX-License-Identifier: Apache-2.0
// EngineCore: the engine's parts and what connects them, shared by its inputs (engine.cpp), its
// waits (engine_waits.cpp) and the runner of plans (plan_runner.hpp).
#pragma once

#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/engine/model/barrier.hpp"
#include "runtime/engine/model/cached_world.hpp"
#include "runtime/engine/model/engine_options.hpp"
#include "runtime/engine/model/key_table.hpp"
#include "runtime/engine/model/messages.hpp"
#include "runtime/engine/model/observations.hpp"
#include "runtime/engine/model/read_index.hpp"
#include "runtime/metrics/engine_metrics.hpp"
#include "runtime/metrics/instrument_board.hpp"

namespace athanor::runtime {

// Not thread-safe. Invariants: a task has a deadline only while it is Waiting, and one at most; a
// Waiting task is in `barrier`.
struct EngineCore {
  EngineCore(std::span<const Operator* const> operators, EngineOptions engine_options);
  EngineCore(const EngineCore&) = delete;
  EngineCore& operator=(const EngineCore&) = delete;

  // Records what failed for good (nullopt takes it back) and queues its readers. Returns true if it
  // is news.
  bool report(const std::string& query, const std::optional<Error>& error, Instant now);
  // Queues the keys that read a query.
  void queue_readers(std::string_view query, Instant now);
  // Returns the queries that a key has read.
  [[nodiscard]] std::vector<std::string> observed_by(const Task& task) const;
  // Erases a task and what only it has read.
  void forget(Task& task);

  // Makes a key Waiting, with a deadline; leaves one that is Waiting as it is.
  void start_wait(Task& task, Instant now);
  // Sets the deadline of a Waiting key whose former one has passed.
  void prolong_wait(Task& task, Instant now);
  // Removes the deadline of a Waiting key.
  void end_wait(Task& task);
  // Counts a key that has waited too long. Returns false if it was counted before.
  bool note_overdue(Task& task);

  // Logs and counts a broken invariant and the steps of the plan that it ends.
  void report_broken(std::string_view controller, const std::string& key, const std::string& what,
                     const Plan* plan);

  EngineOptions options;
  EngineMetrics metrics;
  InstrumentBoard board;
  ReadIndex reads;
  Observations observations;
  CachedWorld world;
  KeyTable keys;
  Barrier barrier{};
  std::set<std::pair<Instant, TaskId>> deadlines{};  // of Waiting keys
  Instant latest{};                                  // of the last turn
  std::vector<Effect> out{};
};

// Returns "sight" or "writes".
std::string_view name_of(Task::Overdue overdue);

}  // namespace athanor::runtime
