// SPDX-License-Identifier: Apache-2.0
// sim::World: the real API server over a memory store, the real engine, virtual time, one thread,
// faults from a seed. The same seed gives the same run, byte for byte.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/time.hpp"
#include "embedded/apiserver/core/server.hpp"
#include "embedded/store/store.hpp"
#include "kube/value/kind.hpp"
#include "kube/value/object.hpp"
#include "kube/value/value.hpp"
#include "runtime/view/operator.hpp"
#include "runtime/view/plan.hpp"
#include "simulation/faults.hpp"

namespace athanor::sim {

class World;

// A client of the scene that acts once.
struct Actor {
  Duration at{};  // after the start
  std::function<void(World&)> act{};
};

// A rule that must hold whatever happens. `check` says what is wrong, or nothing.
struct Invariant {
  enum class When : std::uint8_t {
    EveryStep,  // after each step that stored something; `news` is what it stored
    AtRest      // once the world rests; `news` is empty
  };
  std::string name{};
  When when = When::EveryStep;
  std::function<std::optional<std::string>(const World& world,
                                           std::span<const store::EventPtr> news)>
      check{};
};

// How a world's steps follow each other.
enum class Pace : std::uint8_t {
  Seeded,  // one at a time, chosen by the seed among all that could happen; plans checked twice
  Orderly  // first come, first served, many at a time: for long traces; no faults
};

// What a world starts with, and what may happen in it.
struct Scene {
  std::vector<const Operator*> operators{};
  std::vector<Value> objects{};  // created in order at the start, by an administrator
  // Stored before anything starts, as another release of the controllers left it.
  std::vector<store::StoredPtr> snapshot{};
  std::vector<Actor> actors{};
  std::map<std::string, Value, std::less<>> config{};
  // Act verbs and probe prefixes. The answer arrives up to `delay` of virtual time later.
  std::map<std::string,
           std::function<Result<Value>(World&, const std::string& id, const Value& args)>,
           std::less<>>
      executors{};
  std::map<std::string, std::function<Result<Value>(World&, std::string_view query)>, std::less<>>
      probes{};
  Duration answer_delay = std::chrono::seconds(1);
  Faults faults{};
  // Exactly these faults, instead of chance; lag and order of watches as `faults` says.
  std::optional<FaultList> placed{};
  Duration faults_end = std::chrono::minutes(10);
  Duration limit = std::chrono::hours(24);  // by then all must rest
  // True once the end is reached; empty: rest is enough.
  std::function<bool(const World&)> converged{};
  // Asked at least once an hour of the world's time; true ends the run. Empty: never.
  std::function<bool()> is_given_up{};
  // Systems register theirs here; those of every world (invariants.hpp) come by themselves.
  std::vector<Invariant> invariants{};
  // Called for everything stored, after each step; for reports.
  std::function<void(const World& world, std::span<const store::EventPtr> news)> watch{};
  // Users whose writes at rest are declared (heartbeats of emulated nodes).
  std::vector<std::string> periodic_writers{};
  std::function<std::vector<apiserver::AdmissionStep>()> admission{};
  // Lets a pod or a node die; `pick` says which one of those there are.
  std::function<void(World&, std::uint64_t pick)> kill_pod{};
  std::function<void(World&, std::uint64_t pick)> kill_node{};
  // Another client puts a label and an annotation on every object that a controller makes; they
  // must survive (P9).
  bool foreign_fields = false;
  // Resources whose labels their controller owns whole, as upstream's does ("endpoints").
  std::vector<std::string> labels_overwritten{};
  bool events = true;  // false: no Events are written
  // What controllers write is neither judged nor are the managers of its fields noted: of a world
  // whose outcome counts, in which the same writes have been judged before.
  bool trusts_controllers = false;
  bool record = false;  // keep the journal of all writes (trace())
  Pace pace = Pace::Seeded;
};

// What the controllers had to do.
struct Work {
  std::uint64_t reconciles = 0;
  std::uint64_t reads = 0;  // objects and lists asked for
  std::uint64_t plan_steps = 0;
  std::size_t most_steps = 0;   // of one plan
  std::size_t most_reads = 0;   // of one reconcile
  std::size_t most_status = 0;  // bytes of one status written
  // By controller.
  std::map<std::string_view, std::uint64_t> reconciles_of{};
  std::map<std::string_view, std::uint64_t> writes_of{};
};

// The result of a run, with counts since the world's start.
struct Outcome {
  std::optional<std::string> failure{};  // nullopt: all is well
  std::uint64_t writes = 0;              // of controllers that changed something
  std::uint64_t crashes = 0;             // of the engine, hand-overs included
  Duration took{};                       // virtual
  std::uint64_t steps = 0;               // of the simulator: inputs of the engine, runs, writes
  Work work{};
  FaultList injected{};
  FaultCounts occasions{};                            // chances of each kind
  std::map<std::string, std::uint64_t> invariants{};  // checks by name
};

// One simulated control plane. Not thread-safe.
class World {
 public:
  World(Scene scene, std::uint64_t seed);
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  // Runs until all rests and `converged` holds, then one more hour to see that nothing moves (P2).
  // Called again after changes it goes on from there; the outcome's counts go on, too.
  Outcome run();

  // Returns the wall clock: virtual time and the steps that faults made it take. Serves, like all
  // below, actors, executors and checks, as an administrator.
  [[nodiscard]] Instant now() const;
  Result<Object> create(Value object);
  Result<Object> replace(Value object);
  Result<Object> patch(const Kind& kind, const Key& key, Value merge,
                       std::string_view subresource = {});
  Result<void> remove(const Kind& kind, const Key& key, Propagation mode = Propagation::Background);
  // Removes an object at once, with all that it owns, whatever other owners that has:
  // no finalizer, no grace and no collector of garbage, as if the world had forgotten it.
  // Controllers hear of each.
  void vanish(const Kind& kind, const Key& key);
  [[nodiscard]] std::optional<Object> get(const Kind& kind, const Key& key) const;
  [[nodiscard]] std::vector<Object> list(const Kind& kind, std::string_view ns = {}) const;
  // Runs `act` once that much virtual time has passed, whatever became of the engine meanwhile.
  void after(Duration delay, std::function<void(World&)> act);
  // Delivers an unasked answer of the outside world; lost when the engine dies before it
  // arrives.
  void observe(std::string query, Value answer);
  // Kills the engine: what it knew is gone, what it sent may or may not arrive. From an executor or
  // a probe: once the run that called it has ended.
  void crash();
  // Gives one chance to a fault that the scene carries out itself; its amount when it happens.
  std::optional<std::uint64_t> strike(Fault kind);

  // Returns every stored object without what differs between equal runs (uids, versions, times,
  // managedFields, Events).
  [[nodiscard]] Value final_state() const;
  // Returns everything stored as it is, except Events and Leases.
  [[nodiscard]] std::vector<store::StoredPtr> stored() const;
  // Returns "<time> <user> <method> <path> <code>" per write, when Scene::record.
  [[nodiscard]] const std::vector<std::string>& trace() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace athanor::sim
