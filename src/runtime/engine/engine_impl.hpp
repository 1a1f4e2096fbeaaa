// SPDX-License-Identifier: Apache-2.0
// The engine's parts, shared by its .cpp files: engine.cpp (inputs, scheduling), engine_plan.cpp
// (one plan's way), engine_guard.cpp (what a broken invariant costs) and engine_waits.cpp (keys
// that wait for the caches).
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/contain.hpp"
#include "runtime/cache/cache.hpp"
#include "runtime/engine/barrier.hpp"
#include "runtime/engine/engine.hpp"
#include "runtime/engine/event_recorder.hpp"
#include "runtime/engine/key_queue.hpp"
#include "runtime/engine/reaction.hpp"
#include "runtime/engine/read_index.hpp"
#include "runtime/engine/recent_ids.hpp"
#include "runtime/engine/suppress.hpp"
#include "runtime/metrics/engine_metrics.hpp"
#include "runtime/metrics/instrument_board.hpp"
#include "runtime/view/view.hpp"

namespace athanor::runtime {

// One operator and whether its kinds have been listed.
struct Controller {
  const Operator* op = nullptr;
  std::string user{};
  std::set<const Kind*, KindOrder> unsynced{};
  Instant next_resync{};
  std::size_t number = 0;
  // Of one that must see all (Operator::sees_all): whether it has asked for its lists, and those
  // that are still to come. It runs nothing before both are done.
  bool has_asked = false;
  std::set<Watched, WatchedOrder> unseen{};
};

// A plan that is being carried out.
struct Work {
  Plan plan{};
  std::size_t step = 0;
  std::uint64_t write = 0;                    // in flight
  std::map<Ref, Object, RefOrder> written{};  // what the writes of this plan returned
  // What the plan knew of objects whose status it writes after other steps: caches move on
  // meanwhile.
  std::map<Ref, Object, RefOrder> seen{};
};

// One key of one operator, from its first event until the next one would find nothing in it
// (is_blank). What only busy keys need hangs on `work`: of a kind with readers there is one for
// every object. Its states:
//
//     (ready, asleep or neither: KeyQueue)
//            Idle ──────── reconcile() gives a plan with writes ───────► Writing
//             ▲  ▲                                                       │    ▲ │
//             │  └──── plan without writes; all writes shown already ◄───┤    └─┘ next step
//             │                                                          │
//             └── caches show its writes (Barrier), or ◄── Waiting ◄─────┘ last step done or
//                 barrier_timeout and a new list                           failed (reaction.hpp)
//
// A change of what it read while it is Writing or Waiting makes it `dirty`: it runs again once
// Idle.
struct Task {
  enum class Phase : std::uint8_t { Idle, Writing, Waiting };
  TaskId id = 0;
  Controller* controller = nullptr;
  Key key{};
  Phase phase = Phase::Idle;
  bool dirty = false;  // something it read changed while it was busy
  Priority dirty_priority = Priority::Resync;
  Cause cause = Cause::Synced;         // of the run that is ready or under way
  Cause dirty_cause = Cause::Changed;  // of the run behind it
  Cause again_cause = Cause::Wake;     // of `again`
  Instant started{};
  int failures = 0;
  std::unique_ptr<const std::string> error{};  // of the last plan, when it failed
  std::unique_ptr<Work> work{};                // from a reconcile until its plan is over
  std::optional<Instant> again{};              // retry or wake-up, once the barrier has opened
  Instant barrier_end{};
  Instant waits_since{};  // since when it is Waiting
  // What it has waited for longer than options.barrier_timeout.
  enum class Overdue : std::uint8_t { Nothing, Writes, Sight };
  Overdue overdue = Overdue::Nothing;
};

// Tasks by the number of their controller and their key.
struct TaskName {
  std::size_t controller = 0;
  const Key& key;
};
struct TaskHash {
  using is_transparent = void;
  std::size_t operator()(const TaskName& name) const {
    return hash_of(name.key) * 31 + name.controller;
  }
  std::size_t operator()(const Task* task) const {
    return (*this)(TaskName{task->controller->number, task->key});
  }
};
struct SameTask {
  using is_transparent = void;
  static TaskName name(const Task* task) { return {task->controller->number, task->key}; }
  static TaskName name(const TaskName& name) { return name; }
  template <class A, class B>
  bool operator()(const A& a, const B& b) const {
    const TaskName left = name(a);
    const TaskName right = name(b);
    return left.controller == right.controller && left.key == right.key;
  }
};

using Applied = std::pair<Ref, std::string>;  // target, manager
struct AppliedOrder {
  bool operator()(const Applied& a, const Applied& b) const {
    const RefOrder order;
    return order(a.first, b.first) || (!order(b.first, a.first) && a.second < b.second);
  }
};

struct Engine::Impl final : Snapshot {
  Impl(std::span<const Operator* const> operators, EngineOptions engine_options);

  // Snapshot
  [[nodiscard]] std::optional<Object> get(const Kind& kind, const Key& key) const override;
  [[nodiscard]] std::vector<Object> list(const Kind& kind, const Select& select) const override;
  [[nodiscard]] Totals totals(const Kind& kind, const Select& select,
                              Measure measure) const override;
  [[nodiscard]] std::vector<Group> groups(const Kind& kind, const Select& select,
                                          const Ranking& ranking) const override;
  [[nodiscard]] std::vector<Object> ranked(const Kind& kind, const Select& select,
                                           const Ranking& ranking, std::string_view group,
                                           const Object* after, std::size_t limit) const override;
  [[nodiscard]] std::shared_ptr<const void> derived(const Derivation& derivation) const override;
  [[nodiscard]] Observed observe(std::string_view query, Duration max_age) const override;
  [[nodiscard]] const Value& config(std::string_view section) const override;

  // engine.cpp: inputs
  void take(const WatchEvent& event, Instant now);
  void take(const Relisted& listed, Instant now);
  void take(const WriteResult& result, Instant now);
  void take(const Observation& observation, Instant now);
  void take(const Tick& tick, Instant now);
  void take(const ClockStep& step, Instant now);
  void changed(const Cache& cache, const Cache::Difference& change, Instant now);
  // Lets the caches pack what was not used lately. At the beginning of a turn: whoever brought the
  // last input has let go of what it looked at.
  void rest(Instant now);
  // Counts how often the clock on the wall went back, by however little.
  void see_clock(Instant now);
  void synced(const Kind& kind, Instant now);
  // What failed for good, as an observation; nullopt takes it back. True: news.
  bool report(const std::string& query, const std::optional<Error>& error, Instant now);
  bool report_refusal(const Step& step, const Error& error, Instant now);
  void queue_readers(std::string_view query, Instant now);
  void queue_readers(const Kind& kind, const Cache::Difference& news, Instant now);
  // What is known of a query, from now on at least that it is one.
  Observed& observation(const std::string& query);
  // engine.cpp: scheduling
  Task& task_of(Controller& controller, const Key& key);
  Task* find(TaskId id);
  // In the order in which they came to be.
  [[nodiscard]] std::vector<TaskId> task_ids() const;
  void queue(Task& task, Priority priority, Instant now, Cause cause);
  void make_ready(Task& task, Priority priority, Instant now, Cause cause);
  void queue_all(Controller& controller, Priority priority, Instant now, Cause cause);
  void opened(const std::vector<TaskId>& ids, Instant now);
  void woken(const std::vector<TaskId>& ids);
  void sweep(Instant now);
  void set_timer(Instant now);
  void pump(Instant now);
  void forget(Task& task);
  [[nodiscard]] std::vector<std::string> observed_by(const Task& task) const;
  // Drops those of these answers that nobody reads any more.
  void drop_unread(const std::vector<std::string>& queries);
  Cache& cache(const Kind& kind);
  [[nodiscard]] const Cache* find_cache(const Kind& kind) const;
  // The cache whose watch sees this object; nullptr: none does.
  [[nodiscard]] const Cache* watching(const Ref& ref) const;

  // engine_plan.cpp: one plan's way
  void reconcile(Task& task, Instant since, Instant now);
  // The queries that a run made, with the age that it takes.
  void probe_stale(const std::vector<std::pair<std::string, Duration>>& queries, Instant now);
  void advance(Task& task, Instant now);
  Outcome outcome(Task& task, const Step& step);
  void send(Task& task, WriteRequest request);
  void emit(Task& task, const Emit& step, Instant now);
  void act(const Act& step, Instant now);
  void written(Task& task, const WriteResult& result, Instant now);
  // Reacts to a step that failed (reaction.hpp). `result`: of the write; null: it was not sent.
  void failed(Task& task, const Error& error, const WriteResult* result, Instant now);
  void await(Task& task, const Ref& ref, Await what);
  void finish(Task& task, Instant now);
  void over(Task& task, ReconcileResult result, const Error* error, Instant now);
  // Shown to the instruments.
  void tell_answer(const Task& task, int code, Instant now);
  void back_off(Task& task, Instant now, std::optional<Duration> at_least);
  [[nodiscard]] bool awaits_answer(const Task& task) const;
  // Lets a key whose plan is over run again, once the caches show what the plan did.
  void rest(Task& task, Instant now);
  [[nodiscard]] bool is_blank(const Task& task, bool did_nothing) const;
  void remember_seen(Work& work) const;
  Known known(const Task& task, const Ref& ref) const;

  // engine_guard.cpp: what a broken invariant costs
  // The operator's plan, held to what the operator declares. A broken invariant makes it a retry.
  [[nodiscard]] Plan make_plan(const Task& task, Reads& done, Instant now);
  // Executes `run` for a key; a broken invariant costs this key's run alone.
  template <class Run>
  void guarded(TaskId id, Instant now, Run&& run) {
    if (const auto broken = contain(std::forward<Run>(run))) {
      abandon(id, *broken, now);
    }
  }
  // Ends the run of a key in whatever state it is; it is tried again after a backoff, and after
  // the caches show what it may have written.
  void abandon(TaskId id, const std::string& what, Instant now);
  void absorb(const Input& input, Instant now);
  void tell_broken(std::string_view controller, const std::string& key, const std::string& what,
                   const Plan* plan);
  // Operator::overlooks; false if it breaks an invariant.
  [[nodiscard]] bool overlooks(const Operator& op, const Kind& kind, const Cache::Change& change);

  // engine_waits.cpp: keys that wait for the caches
  // What the operator must see all of is listed anew; the task waits for it. False: there is
  // nothing to wait for.
  bool prove_sight(Task& task, Instant now);
  void ask_for_sight(Controller& controller);
  void expire(Instant now);
  // Ends the waits of one key whose deadline has passed, or prolongs them.
  void expire(Task& task, Instant now);
  // Counts a key that has waited too long, once; true: it was not counted yet.
  bool note_overdue(Task& task);
  void no_longer_overdue(Task& task);
  // "secrets in a": what a key waits for.
  [[nodiscard]] std::vector<std::string> waits_for(const Task& task) const;

  // engine_debug.cpp: Null for a key at rest
  [[nodiscard]] Value describe(const Task& task, Instant now) const;

  static constexpr std::size_t kRememberedActs = 100'000;  // enough for the pods of a day
  static constexpr Duration kProbeInterval =
      std::chrono::milliseconds(100);  // between two probes of one query

  static constexpr Duration kUnreadObservation = std::chrono::minutes(1);

  EngineOptions options;
  std::vector<std::unique_ptr<Controller>> controllers{};
  std::vector<const Kind*> kinds{};
  std::vector<Index> indexes{};
  std::map<const Kind*, Cache, KindOrder> caches{};
  std::unordered_map<const Kind*, Cache*> caches_by_address{};  // the same: looked up all the time
  std::map<const Kind*, std::vector<Controller*>, KindOrder> primaries{};
  // What derivations made, by their functions.
  struct Derived {
    std::vector<std::uint64_t> changes{};  // of the caches of its kinds, when it was made
    std::shared_ptr<const void> made{};
  };
  mutable std::map<decltype(Derivation::make), Derived> kept_derived{};
  bool derive_anew = false;  // to see whether what is kept is what would be made now
  std::unordered_map<TaskId, Task> tasks{};
  std::unordered_set<Task*, TaskHash, SameTask> named_tasks{};  // the same, by name
  TaskId last_task = 0;
  std::size_t most_tasks = 0;  // since memory was given back last
  KeyQueue ready{};
  ReadIndex reads;
  Barrier barrier{};
  std::set<std::pair<Instant, TaskId>> deadlines{};  // of barriers
  std::map<std::uint64_t, TaskId> writes{};          // in flight
  std::map<std::uint64_t, Key> event_writes{};       // of Events: nobody waits
  std::uint64_t last_write = 0;
  std::map<std::string, Observed, std::less<>> observations{};
  std::vector<std::string> maybe_unread{};  // the only ones of these that nobody may read
  // What was asked last about a query.
  struct Question {
    std::uint64_t id = 0;
    Instant at{};
  };
  std::map<std::string, Question, std::less<>> probed{};
  std::uint64_t last_question = 0;
  RecentIds acts{kRememberedActs};                        // "<verb>:<id>"
  std::map<Applied, Value, AppliedOrder> last_applied{};  // (target, manager): fields
  EventRecorder events;
  EngineMetrics metrics;
  InstrumentBoard board;
  Instant latest{};  // the last turn's
  std::optional<Instant> timer{};
  Instant next_sweep{};
  std::vector<Effect> out{};
};

}  // namespace athanor::runtime
