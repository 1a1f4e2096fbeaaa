// SPDX-License-Identifier: Apache-2.0
// FakeWorld: a small in-memory world for unit tests of pure controllers: objects, observations,
// virtual time. Plausible, not faithful: no schemas, no admission, no RBAC (the simulator has the
// real server). One thread.
//
//   FakeWorld world;
//   world.put(Value::object({...}));                       // as a user would
//   Plan plan = world.reconcile(op, {"ns", "job"});        // one run; undeclared reads and writes
//   fail the test world.apply(plan);                                     // carries it out
//   world.settle({&op, &other});                           // runs queued keys until nothing
//   changes world.settle_for({&op}, std::chrono::hours(1));        // the same, virtual time
//   passing from wake to wake
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "base/time.hpp"
#include "kube/value/kind.hpp"
#include "kube/value/object.hpp"
#include "kube/value/value.hpp"
#include "runtime/view/operator.hpp"
#include "runtime/view/plan.hpp"
#include "runtime/view/view.hpp"

namespace athanor::test {

// A change that really happened: verb of step.hpp ("create"), "Pod", "ns/name", what was sent.
struct Write {
  std::string verb{};
  std::string kind{};
  std::string key{};
  Value body{};
};

struct RecordedEvent {
  std::string kind{};
  Key about{};
  std::string about_uid{};  // empty: that of the object as it is
  std::string type{};
  std::string reason{};
  std::string note{};
  std::string component{};
  int count = 1;
};

class FakeWorld final : public Snapshot {
 public:
  using Operators = std::vector<const Operator*>;

  FakeWorld();
  ~FakeWorld() override;
  FakeWorld(const FakeWorld&) = delete;
  FakeWorld& operator=(const FakeWorld&) = delete;

  // ---- the world as it is; set freely
  Instant now{};  // starts at 2026-01-05T00:00:00Z
  // Bound, unfinished pods stay (deletionTimestamp set) until deleted with grace 0, as with a
  // kubelet.
  bool graceful_pods = false;
  // Runs on every object a Create or first Apply makes (defaulting, mutating webhooks).
  std::function<void(FakeWorld&, Value& object)> on_create{};
  // Runs before every step; an error makes the step fail with it.
  std::function<std::optional<Error>(const Step&)> fault{};
  // Executors of Act by verb. The result becomes the observation "<verb>:<id>". Without one the act
  // is only recorded and its observation is in flight.
  std::map<std::string, std::function<Result<Value>(FakeWorld&, const Act&)>, std::less<>>
      executors{};
  // Answers observations that a reconcile found older than its max age, by the part of the query
  // before the first ':'. Live reads (runtime/view/live.hpp) are answered from the start.
  std::map<std::string, std::function<Result<Value>(FakeWorld&, std::string_view query)>,
           std::less<>>
      probes{};

  // ---- as a user or another controller
  // Creates or replaces; sets uid, resourceVersion, creationTimestamp where absent; the object may
  // carry status.
  Object put(Value object);
  // Edits an existing object in place (a missing one fails the test); generation grows when
  // anything but metadata and status changed.
  Object update(const Kind& kind, const Key& key, const std::function<void(Value& object)>& edit);
  // Deletes as kubectl does (finalizers and graceful pods wait, dependents go).
  void remove(const Kind& kind, const Key& key, Propagation mode = Propagation::Background);
  void configure(std::string_view section, Value settings);
  void observe_as(std::string_view query, Value answer);
  void fail_observation(std::string_view query, Error error);
  void forget_observation(std::string_view query);

  // ---- reading
  [[nodiscard]] std::optional<Object> get(const Kind& kind, const Key& key) const override;
  [[nodiscard]] std::vector<Object> list(const Kind& kind,
                                         const Select& select = {}) const override;
  [[nodiscard]] Observed observe(std::string_view query, Duration max_age) const override;
  [[nodiscard]] const Value& config(std::string_view section) const override;
  // The object; a missing one fails the test and reads as empty.
  [[nodiscard]] Object must(const Kind& kind, const Key& key) const;
  [[nodiscard]] bool has(const Kind& kind, const Key& key) const {
    return get(kind, key).has_value();
  }
  [[nodiscard]] std::size_t count(const Kind& kind) const { return list(kind).size(); }
  template <api::Described T>
  [[nodiscard]] T read(const Key& key) const {
    return api::read<T>(must(T::kind(), key));
  }
  // status.conditions[type] of an object, or Null.
  [[nodiscard]] Value condition(const Kind& kind, const Key& key, std::string_view type) const;

  // ---- running controllers
  // One pure run; twice in fact: plans that differ, undeclared reads and undeclared writes fail the
  // test.
  Plan reconcile(const Operator& op, const Key& key);
  [[nodiscard]] const Reads& last_reads() const { return last_reads_; }
  // Carries steps out in order; the first failure stops. `by` is the field manager of Apply steps
  // without one.
  Result<void> apply(const Plan& plan, std::string_view by = "test");
  // Runs queued keys (the first time: all of them) until nothing is left; more than `limit` runs
  // fail the test with the plans of the last ones. Time stands still. Returns the number of plans
  // that did something.
  int settle(const Operators& operators, int limit = 20'000);
  // settle(), then again from wake-up to wake-up until `duration` has passed; `now` ends there.
  int settle_for(const Operators& operators, Duration duration, int limit = 200'000);
  // The earliest wake-up or retry that a key of these operators asked for.
  [[nodiscard]] std::optional<Instant> next_wake() const;
  void advance(Duration duration) { now += duration; }
  // Queues every key again, as a restart does; backoff and wake-ups are forgotten.
  void restart();

  // ---- what happened
  std::vector<Write> writes{};          // by steps of plans, no-ops left out
  std::vector<RecordedEvent> events{};  // equal consecutive ones counted
  std::vector<Act> acts{};              // each id once
  std::vector<std::pair<std::string, Error>>
      errors{};  // "<operator> <key>": plans that failed or reported an error
  // Events with this reason about this object (empty name: any).
  [[nodiscard]] int event_count(std::string_view reason, std::string_view about_name = {}) const;

 private:
  // group, kind, namespace, name
  using Id = std::tuple<std::string, std::string, std::string, std::string>;
  struct Stored {
    Object object{};
    std::map<std::string, Value, std::less<>> applied{};  // manager: fields of its last apply
  };
  struct Task {
    const Operator* op = nullptr;
    Key key{};
  };
  struct TaskOrder {
    bool operator()(const Task& a, const Task& b) const;
  };
  struct TaskState {
    Reads reads{};
    std::optional<Instant> wake{};
    int failures = 0;
  };
  struct Change {
    Id id{};
    std::optional<Object> before{};
    std::optional<Object> after{};
  };

  static Id id_of(const Kind& kind, const Key& key);
  static Id id_of(const Value& object);
  Stored* find(const Ref& ref);
  // Stores a changed body: bumps versions, ends a deletion whose finalizers are gone. False:
  // nothing changed.
  bool store(const Id& id, Value body, std::string_view manager = {}, const Value& applied = {});
  void erase(const Id& id, Propagation mode);
  void collect_dependents(const std::string& uid, Propagation mode);
  [[nodiscard]] bool must_wait(const Object& object, const Delete& step) const;
  [[nodiscard]] bool ends_gracefully(const Object& object) const;
  void record(std::string_view verb, const Ref& ref, const Value& body);
  void make(Value body, const Id& id, std::string_view manager, const Value& applied);

  Result<void> check(const Ref& ref, const Guard& guard);
  Result<void> run(const Apply& step, std::string_view by);
  Result<void> run(const Create& step, std::string_view by);
  Result<void> run(const Patch& step, std::string_view by);
  Result<void> run(const Status& step, std::string_view by);
  Result<void> run(const Replace& step, std::string_view by);
  Result<void> run(const Delete& step, std::string_view by);
  Result<void> run(const Emit& step, std::string_view by);
  Result<void> run(const Act& step, std::string_view by);

  void check_declared(const Operator& op, const Plan& plan) const;
  void adopt(const Operator& op);
  void queue_readers();
  void queue_due();
  void run_task(const Task& task, int& busy);
  void answer_probes(const Task& task, const Reads& reads);
  [[nodiscard]] bool touches(const Operator& op, const Key& key, const TaskState& state,
                             const Change& change) const;
  [[nodiscard]] static bool in_list(const Change& change, const Kind& kind);

  std::map<Id, Stored> objects_{};
  std::map<std::string, Observed, std::less<>> observations_{};
  std::map<std::string, Value, std::less<>> config_{};
  std::vector<Index> indexes_{};
  std::uint64_t version_ = 1000;
  std::uint64_t made_ = 0;
  Reads last_reads_{};
  std::set<std::string, std::less<>> act_ids_{};

  std::set<const Operator*> adopted_{};       // compared, never iterated
  std::vector<const Operator*> operators_{};  // in the order given
  std::map<Task, TaskState, TaskOrder> tasks_{};
  std::set<Task, TaskOrder> queue_{};
  std::vector<Change> changes_{};  // since the readers were last queued
  std::vector<std::string> changed_queries_{};
};

}  // namespace athanor::test
