// SPDX-License-Identifier: Apache-2.0
// PlanRunner: one key's way from a reconcile through the steps of its plan to its next run.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/engine/model/engine_core.hpp"
#include "runtime/engine/model/reaction.hpp"
#include "runtime/engine/model/suppress.hpp"
#include "runtime/engine/plans/event_recorder.hpp"
#include "runtime/engine/plans/recent_ids.hpp"
#include "runtime/engine/plans/write_loops.hpp"

namespace athanor::runtime {

// Not thread-safe: the engine owns it. Invariants: a Writing key has a write in flight, with
// Operator::independent_steps up to writes_per_plan, but never two on one object; no key starts a
// plan before the caches show the writes of its last one, or barrier_timeout has passed and they
// were listed anew; an Act is executed once.
class PlanRunner {
 public:
  // Requires that `core` outlives it.
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

  // Takes an object as its watch shows it; managedFields included.
  void saw(const Kind& kind, const Object& object);
  // Drops what is remembered of writes that are long over.
  void sweep(Instant now);
  // Shifts stored times after a step of the clock.
  void shift(Duration by);

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
  // The answer to a failed step; without both it was not sent.
  struct Answer {
    const WriteResult* result = nullptr;
    const Sent* sent = nullptr;
  };
  static constexpr std::size_t kRememberedActs = 100'000;  // enough for the pods of a day

  // Returns the operator's plan, held to what the operator declares. A broken
  // invariant makes it a retry. The plan and its steps are in
  // plan_runner.cpp.
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
  // Goes on to the next step with a write of its own.
  static void pass_step(Work& work);
  // Sends the write of step `work->step`.
  void send(Task& task, WriteRequest request);
  void emit(Task& task, const Emit& step, Instant now);
  void act(const Act& step, Instant now);

  // Keeps the returned object and waits until the cache has it. The outcomes of steps and plans are
  // in plan_results.cpp.
  void written(Task& task, const Sent& sent, const WriteResult& result, Instant now);
  // Takes the reaction to a failed step (reaction.hpp). Returns true if the step counts as done.
  bool failed(Task& task, const Step& step, const Error& error, const Answer& answer, Instant now);
  // Ends a plan of which a step failed.
  void give_up(Task& task, Instant now);
  // Requires as `after` the newest version of `ref` that is known not to be the change.
  void await(Task& task, const Ref& ref, Await what, std::uint64_t after);
  // Returns true if the refusal is news to a reader.
  bool report_refusal(const Step& step, const Error& error, Instant now);
  // Sets the time of the next try, at least `at_least` away; soon, whatever the pace, after trouble
  // on the server's side.
  void back_off(Task& task, Instant now, std::optional<Duration> at_least, bool soon = false);
  void finish(Task& task, Instant now);
  // Records the end of a reconcile, the writes of its plan included.
  void over(Task& task, ReconcileResult result, const Error* error, Instant now);
  // Shows an answer to the instruments.
  void show_answer(const Task& task, const Step& step, int code, Instant now);
  // Returns true if an answer is under way to a question that the key asked.
  [[nodiscard]] bool awaits_answer(const Task& task) const;
  // Returns true if the next event would find nothing in the task.
  [[nodiscard]] bool is_blank(const Task& task, bool did_nothing) const;

  // Notes a write; starts a pause of the key's writes on an object that it writes in turn with
  // another writer, and reports that in an Event. Users' notices about writes are in
  // plan_notices.cpp.
  void note_loop(Task& task, const Sent& sent, const Object& after, Instant now);
  // Returns the end of such a pause; nullopt: the request may be sent.
  [[nodiscard]] std::optional<Instant> held_until(const Task& task, const WriteRequest& request,
                                                  Instant now) const;
  // Leaves step `work->step` out until then; with all behind it, where steps depend on each other.
  void put_off(Task& task, Instant until);
  // Records an Event about the key's object for a refusal that its controller does not read.
  void tell_refusal(Task& task, const Step& step, const Failure& failure, Instant now);
  // Returns the object that people look at for a step of this key; nullopt: there is none.
  [[nodiscard]] std::optional<Ref> subject_of(const Task& task, const Step& step) const;

  EngineCore& core_;
  std::map<std::uint64_t, TaskId> writes_{};     // in flight
  std::map<std::uint64_t, Key> event_writes_{};  // of Events: no key waits for them
  std::uint64_t last_write_ = 0;
  RecentIds acts_{kRememberedActs};                        // "<verb>:<id>"
  std::map<Applied, Value, AppliedOrder> last_applied_{};  // (target, manager): fields
  EventRecorder events_;
  WriteLoops loops_{};
  // The refusals that were told last.
  struct Told {
    std::string what{};
    Instant when{};
  };
  std::map<TaskId, Told> told_{};
};

}  // namespace athanor::runtime
