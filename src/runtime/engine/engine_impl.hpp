// SPDX-License-Identifier: Apache-2.0
// The engine put together from its parts: keys (key_table.hpp), observations (observations.hpp),
// caches (cached_world.hpp) and plans (plan_runner.hpp). Here are its inputs, and the keys that
// wait for the caches. The states of a key: key_table.hpp, Task.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/contain.hpp"
#include "runtime/engine/engine.hpp"
#include "runtime/engine/model/engine_core.hpp"
#include "runtime/engine/plans/plan_runner.hpp"

namespace athanor::runtime {

struct Engine::Impl {
  Impl(std::span<const Operator* const> operators, EngineOptions engine_options);

  // Takes an input (in engine.cpp).
  void take(const WatchEvent& event, Instant now);
  void take(const Relisted& listed, Instant now);
  void take(const WriteResult& result, Instant now) { plans.take(result, now); }
  void take(const Observation& observation, Instant now);
  void take(const Tick& tick, Instant now);
  void take(const ClockStep& step, Instant now);
  // Queues the keys that a changed object concerns.
  void changed(const Cache& cache, const Cache::Difference& change, Instant now);
  void queue_readers(const Kind& kind, const Cache::Difference& news, Instant now);
  // Queues all keys of the operators whose last kind this was.
  void synced(const Kind& kind, Instant now);
  void queue_all(Controller& controller, Priority priority, Instant now, Cause cause);
  // Releases keys that the caches have caught up with.
  void opened(const std::vector<TaskId>& ids, Instant now);
  // Begins a turn: sets its time and lets the caches pack. The objects that the last input brought
  // are not used any more.
  void begin_turn(Instant now);
  // Runs ready keys, at most options.keys_per_run.
  void pump(Instant now);
  void set_timer(Instant now);

  // Executes `run` for a key (in engine_guard.cpp); a broken invariant costs this key's run
  // alone.
  template <class Run>
  void guarded(TaskId id, Instant now, Run&& run) {
    if (const auto broken = contain(std::forward<Run>(run))) {
      plans.abandon(id, *broken, now);
    }
  }
  void absorb(const Input& input, Instant now);
  // Calls Operator::overlooks; false if it breaks an invariant.
  [[nodiscard]] bool overlooks(const Operator& op, const Kind& kind, const Cache::Change& change);

  // Returns true if a key must wait for lists of all that its operator reads (Operator::sees_all).
  // Keys that wait for the caches are in engine_waits.cpp.
  bool waits_for_sight(Task& task, Instant now);
  void ask_for_sight(Controller& controller);
  // Ends the waits whose deadlines have passed, and queues resyncs that are due.
  void expire(Instant now);
  // Ends or prolongs the wait of one key whose deadline has passed.
  void expire(Task& task, Instant now);
  // Calls options.on_expired_wait for a wait for versions or objects.
  void report_expired(const Task& task) const;
  // Returns texts such as "secrets in a": what a key waits for.
  [[nodiscard]] std::vector<std::string> waits_for(const Task& task) const;

  // Describes a key; Null at rest (in engine_debug.cpp).
  [[nodiscard]] Value describe(const Task& task, Instant now) const;

  std::vector<std::unique_ptr<Controller>> controllers{};
  std::map<const Kind*, std::vector<Controller*>, KindOrder> primaries{};
  EngineCore core;
  PlanRunner plans;
  std::optional<Instant> timer{};
};

}  // namespace athanor::runtime
