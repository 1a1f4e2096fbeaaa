// SPDX-License-Identifier: Apache-2.0
// PlanRunner: one key's way from a reconcile through the steps of its plan to its next run.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/engine/engine_core.hpp"
#include "runtime/engine/plans/event_recorder.hpp"
#include "runtime/engine/plans/recent_ids.hpp"
#include "runtime/engine/reaction.hpp"
#include "runtime/engine/suppress.hpp"

namespace athanor::runtime {

// Not thread-safe: the engine owns it. Invariants: a Writing key has a write in flight, with
// Operator::independent_steps up to writes_per_plan, but never two on one object; no key starts a
// plan before the caches show the writes of its last one, or barrier_timeout has passed and they
// were listed anew; an Act is executed once.
class PlanRunner {
 public:
  // `core` must outlive it.
  explicit PlanRunner(EngineCore& core) : core_(core), events_(*core.options.entropy) {}

  // Runs the controller of an Idle key that has been ready since `since`, and begins its plan.
  void reconcile(Task& task, Instant since, Instant now);
  // Takes the result of a write; one that belongs to no plan any more is ignored.
  void take(const WriteResult& result, Instant now);
  // Makes a key whose plan is over Idle, or Waiting until the caches show what the plan did.
  void release(Task& task, Instant now);
  // Ends the run of a key in whatever state it is, after a broken invariant. It runs again after a
  // backoff, and after the caches show what it may have written.
  void abandon(TaskId id, const std::string& what, Instant now);
  // Forgets what was applied to an object that is gone.
  void forget_applied(const Ref& ref);

  // Returns the key whose write this is; 0: none.
  [[nodiscard]] TaskId writer(std::uint64_t write) const;
  [[nodiscard]] std::size_t writes_in_flight() const { return writes_.size(); }
  [[nodiscard]] bool idle() const { return writes_.empty() && event_writes_.empty(); }

 private:
  using Applied = std::pair<Ref, std::string>;  // target, manager
  struct AppliedOrder {
    bool operator()(const Applied& a, const Applied& b) const {
      const RefOrder order;
      return order(a.first, b.first) || (!order(b.first, a.first) && a.second < b.second);
    }
  };
  static constexpr std::size_t kRememberedActs = 100'000;  // enough for the pods of a day

  // plan_runner.cpp: the plan and its steps
  // Returns the operator's plan, held to what the operator declares. A broken invariant makes it a
  // retry.
  [[nodiscard]] Plan make_plan(const Task& task, Reads& done, Instant now);
  // Keeps the objects whose status the plan writes after other steps.
  void remember_seen(Work& work) const;
  // Runs steps until no other write may be in flight, one failed, or all are done.
  void advance(Task& task, Instant now);
  // Runs steps of Events and Acts from `step` on; returns the step after them.
  std::size_t run_followers(Task& task, std::size_t step, Instant now);
  // Returns true if the writes in flight leave room for another one.
  [[nodiscard]] bool may_send(const Task& task) const;
  // Returns true if a write on the object of a step is in flight.
  [[nodiscard]] static bool is_being_written(const Work& work, const Step& step);
  Outcome outcome(Task& task, const Step& step);
  [[nodiscard]] Known known(const Task& task, const Ref& ref) const;
  // Sends the write of step `work->step`.
  void send(Task& task, WriteRequest request);
  void emit(Task& task, const Emit& step, Instant now);
  void act(const Act& step, Instant now);

  // plan_results.cpp: what becomes of steps and plans
  // Keeps the returned object and waits until the cache has it.
  void written(Task& task, const Step& step, const WriteResult& result, Instant now);
  // Takes the reaction to a failed step (reaction.hpp). `result`: of the write; null: it was not
  // sent. Returns true if the step counts as done.
  bool failed(Task& task, const Step& step, const Error& error, const WriteResult* result,
              Instant now);
  // Ends a plan of which a step failed.
  void give_up(Task& task, Instant now);
  void await(Task& task, const Ref& ref, Await what);
  // Returns true if the refusal is news to a reader.
  bool report_refusal(const Step& step, const Error& error, Instant now);
  // Sets the time of the next try, at least `at_least` away.
  void back_off(Task& task, Instant now, std::optional<Duration> at_least);
  void finish(Task& task, Instant now);
  // Records the end of a reconcile, the writes of its plan included.
  void over(Task& task, ReconcileResult result, const Error* error, Instant now);
  // Shows an answer to the instruments.
  void show_answer(const Task& task, const Step& step, int code, Instant now);
  // Returns true if an answer is under way to a question that the key asked.
  [[nodiscard]] bool awaits_answer(const Task& task) const;
  // Returns true if the next event would find nothing in the task.
  [[nodiscard]] bool is_blank(const Task& task, bool did_nothing) const;

  EngineCore& core_;
  std::map<std::uint64_t, TaskId> writes_{};     // in flight
  std::map<std::uint64_t, Key> event_writes_{};  // of Events: no key waits for them
  std::uint64_t last_write_ = 0;
  RecentIds acts_{kRememberedActs};                        // "<verb>:<id>"
  std::map<Applied, Value, AppliedOrder> last_applied_{};  // (target, manager): fields
  EventRecorder events_;
};

}  // namespace athanor::runtime
