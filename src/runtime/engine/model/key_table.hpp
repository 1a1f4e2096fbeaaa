// SPDX-License-Identifier: Apache-2.0
// KeyTable: the keys that the engine knows, what each of them is doing, and which run next.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/clock.hpp"
#include "base/time.hpp"
#include "kube/value/object.hpp"
#include "runtime/engine/model/barrier.hpp"
#include "runtime/engine/model/key_queue.hpp"
#include "runtime/engine/model/task.hpp"
#include "runtime/engine/model/write_request.hpp"
#include "runtime/metrics/engine_metrics.hpp"
#include "runtime/view/operator.hpp"
#include "runtime/view/plan.hpp"

namespace athanor::runtime {

// One operator and whether its kinds have been listed.
struct Controller {
  const Operator* op = nullptr;
  std::string user{};
  std::set<const Kind*, KindOrder> unsynced{};
  Instant next_resync{};
  std::size_t number = 0;
  // A key that must see all (Operator::sees_all): true once it asked for its lists, and the lists
  // that are still to come. It runs nothing before both are done.
  bool has_asked = false;
  std::set<Watched, WatchedOrder> unseen{};
};

// The failure that ends a plan, and when its key runs again.
struct PlanFailure {
  Error error{};
  std::optional<Instant> held_until{};  // not sent before: a write loop (plans/write_loops.hpp)
  bool at_once = false;
  bool is_news = false;  // a refusal that its controller reads and has not seen yet
  std::optional<Duration> retry_after{};
};

// A write in flight, and what was known of its target when it was sent.
struct Sent {
  std::size_t step = 0;
  WriteRequest request{};
  std::uint64_t known = 0;     // the target's newest version; 0: unknown
  std::uint64_t required = 0;  // the target's version that the request names; 0: none
  std::uint64_t cached = 0;    // the target's version in the cache; 0: it was not there
  std::string uid{};           // of the target; empty: unknown
};

// A plan that is being carried out.
struct Work {
  Plan plan{};
  std::size_t step = 0;                       // the next one
  std::map<std::uint64_t, Sent> writes{};     // in flight
  std::optional<PlanFailure> failure{};       // no further write is sent
  std::map<Ref, Object, RefOrder> written{};  // what the writes of this plan returned
  // Objects as the plan knew them, whose status it writes after other steps: caches move on
  // meanwhile.
  std::map<Ref, Object, RefOrder> seen{};

  // Returns the earliest step whose write is in flight; `step` without one.
  [[nodiscard]] std::size_t first_unanswered() const {
    return writes.empty() ? step : writes.begin()->second.step;
  }
};

// One key of one operator, from its first event until the next one would find nothing in it
// (PlanRunner::is_blank). What only busy keys need hangs on `work`: of a kind with readers there is
// one for every object. Its states:
//
//     (ready, asleep or neither: KeyQueue)
//            Idle ──────── reconcile() gives a plan with writes ───────► Writing
//             ▲  ▲                                                       │    ▲ │
//             │  └──── plan without writes; all writes shown already ◄───┤    └─┘ next steps
//             │                                                          │
//             └── caches show its writes (Barrier), or ◄── Waiting ◄─────┘ last step done or
//                 barrier_timeout and a new list                           failed (reaction.hpp)
//
// A change of what it read while it is Writing or Waiting makes it `dirty`: it runs again once
// Idle. A broken invariant leads from every state through a new list back to Idle, with a backoff
// (PlanRunner::abandon).
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
  // Waits longer than options.barrier_timeout.
  enum class Overdue : std::uint8_t { Nothing, Writes, Sight };
  Overdue overdue = Overdue::Nothing;
};

// Not thread-safe: the engine owns it. Invariants: every task has an id and a name of its own; only
// Idle tasks are in the queue of ready keys or asleep in it.
class KeyTable {
 public:
  explicit KeyTable(EngineMetrics& metrics) : metrics_(metrics) {}

  // Returns the task of a key; makes it if there is none.
  Task& of(Controller& controller, const Key& key);
  // Returns nullptr for a task that was erased.
  Task* find(TaskId id);
  // Requires a known id.
  [[nodiscard]] Task& at(TaskId id) { return tasks_.at(id); }
  // Returns all ids in order of creation.
  [[nodiscard]] std::vector<TaskId> ids() const;
  [[nodiscard]] std::size_t size() const { return tasks_.size(); }
  void erase(Task& task);

  // Makes an Idle key ready, and a busy one dirty.
  void queue(Task& task, Priority priority, Instant now, Cause cause);
  // Makes an Idle key ready at once, or when the pause since its last run is over.
  void make_ready(Task& task, Priority priority, Instant now, Cause cause);
  void sleep(const Task& task, Instant when) { queue_.sleep(task.id, when); }
  // Cancels the wake-up of a key.
  void cancel(TaskId id) { queue_.cancel(id); }
  // Makes those ready whose time has come.
  void wake(Instant now) { woken(queue_.wake(now)); }
  // Makes all sleeping keys ready.
  void wake_all(Instant now) { woken(queue_.wake_all(now)); }
  // Returns the next ready key; with `shuffle` any of the ready ones.
  std::optional<KeyQueue::Taken> take(Entropy* shuffle) { return queue_.take(shuffle); }
  [[nodiscard]] const KeyQueue& queue() const { return queue_; }
  // Returns memory to the system once most of the keys that were known are gone.
  void give_back_memory();

 private:
  // Tasks by the number of their controller and their key.
  struct Name {
    std::size_t controller = 0;
    const Key& key;
  };
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(const Name& name) const {
      return hash_of(name.key) * 31 + name.controller;
    }
    std::size_t operator()(const Task* task) const {
      return (*this)(Name{task->controller->number, task->key});
    }
  };
  struct SameTask {
    using is_transparent = void;
    static Name name(const Task* task) { return {task->controller->number, task->key}; }
    static Name name(const Name& name) { return name; }
    template <class A, class B>
    bool operator()(const A& a, const B& b) const {
      const Name left = name(a);
      const Name right = name(b);
      return left.controller == right.controller && left.key == right.key;
    }
  };
  void woken(const std::vector<TaskId>& ids);

  EngineMetrics& metrics_;
  std::unordered_map<TaskId, Task> tasks_{};
  std::unordered_set<Task*, Hash, SameTask> by_name_{};  // the same tasks
  TaskId last_ = 0;
  std::size_t most_ = 0;  // since memory was given back last
  KeyQueue queue_{};
};

}  // namespace athanor::runtime
