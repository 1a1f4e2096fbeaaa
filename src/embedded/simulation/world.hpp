// SPDX-License-Identifier: Apache-2.0
// sim::World: the real API server over a memory store, the real engine, virtual time, one thread,
// faults from a seed. The same seed gives the same run, byte for byte.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/time.hpp"
#include "embedded/apiserver/server.hpp"
#include "kube/kind.hpp"
#include "kube/object.hpp"
#include "kube/value.hpp"
#include "runtime/view/operator.hpp"

namespace athanor::sim {

class World;

// How often things go wrong, each from 0 to 1, until Scene::faults_end.
struct Faults {
  double conflict = 0;      // a write is answered 409 and does nothing
  double error = 0;         // 500, nothing done
  double overload = 0;      // 429 with Retry-After 1 s
  double lost = 0;          // no answer, nothing done
  double lost_applied = 0;  // no answer, yet done
  double crash = 0;         // the engine dies after a write, before it hears of it
  double lag = 0;           // an event of a watch is held back up to max_lag; those behind it wait
  double gap = 0;           // a watch breaks: its pending events are lost, the kind is listed anew
  Duration max_lag = std::chrono::seconds(5);
  // The watches of all kinds show one common past, as in the embedded world. Otherwise each kind
  // lags by itself, as with an API server in another process: a controller may see an object's
  // status before it sees the child it speaks of.
  bool ordered = false;
  bool old_replica = false;  // after a crash lists may come from an older state
  // A crash after exactly these writes, counted from 1 over the whole run (exhaustive placement).
  std::vector<std::uint64_t> crash_after{};
};

// Everything bad at once, moderately.
Faults stormy();

struct Actor {
  Duration at{};  // after the start
  std::function<void(World&)> act{};
};

struct Scene {
  std::vector<const Operator*> operators{};
  std::vector<Value> objects{};  // created in order at the start, by an administrator
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
  Duration faults_end = std::chrono::minutes(10);
  Duration limit = std::chrono::hours(24);  // by then all must rest
  // True once the end is reached; empty: rest is enough.
  std::function<bool(const World&)> converged{};
  // Checked after every write: a text says which safety rule is broken.
  std::function<std::optional<std::string>(const World&)> invariant{};
  // Users whose writes at rest are declared (heartbeats of emulated nodes).
  std::vector<std::string> periodic_writers{};
  std::function<std::vector<apiserver::AdmissionStep>()> admission{};
  bool record = false;  // keep the journal of all writes (trace())
};

struct Outcome {
  std::optional<std::string> failure{};  // nullopt: all is well
  std::uint64_t writes = 0;              // of controllers that changed something
  std::uint64_t crashes = 0;
  Duration took{};  // virtual
};

class World {
 public:
  World(Scene scene, std::uint64_t seed);
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  // Runs until all rests and `converged` holds, then one more hour to see that nothing moves (P2).
  Outcome run();

  // ---- for actors, executors and checks; as an administrator
  [[nodiscard]] Instant now() const;
  Result<Object> create(Value object);
  Result<Object> replace(Value object);
  Result<Object> patch(const Kind& kind, const Key& key, Value merge,
                       std::string_view subresource = {});
  Result<void> remove(const Kind& kind, const Key& key);
  [[nodiscard]] std::optional<Object> get(const Kind& kind, const Key& key) const;
  [[nodiscard]] std::vector<Object> list(const Kind& kind, std::string_view ns = {}) const;
  // Runs `act` once that much virtual time has passed, whatever became of the engine meanwhile.
  void after(Duration delay, std::function<void(World&)> act);
  // An answer of the outside world that nobody asked for; lost when the engine dies before it
  // arrives.
  void observe(std::string query, Value answer);
  // Kills the engine: what it knew is gone, what it sent may or may not arrive.
  void crash();

  // Every stored object without what differs between equal runs (uids, versions, times,
  // managedFields, Events).
  [[nodiscard]] Value final_state() const;
  // "<time> <user> <method> <path> <code>" per write, when Scene::record.
  [[nodiscard]] const std::vector<std::string>& trace() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace athanor::sim
