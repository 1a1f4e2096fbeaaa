// SPDX-License-Identifier: Apache-2.0
// Engine: runs controllers. A machine from inputs to effects: no clock, no socket, no thread
// (docs/engine.md 1, 2).
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "base/time.hpp"
#include "kube/value/kind.hpp"
#include "kube/value/object.hpp"
#include "kube/value/value.hpp"
#include "runtime/engine/write_request.hpp"
#include "runtime/view/operator.hpp"
#include "runtime/view/places.hpp"

namespace athanor {
class Metrics;
struct Instruments;
}  // namespace athanor

namespace athanor::runtime {

class EngineTracer;

// ---- inputs
// One event of a kind's watch, in order of versions. Deleted: the last state, with the deletion's
// version.
struct WatchEvent {
  enum class Type : std::uint8_t { Changed, Deleted, Bookmark };
  Type type = Type::Changed;
  const Kind* kind = nullptr;
  Object object{};
  std::string ns{};  // of a Bookmark: the watch's namespace; empty: of everything
};
// All objects of a kind at a version: at the start, after a gap in the watch, and when asked
// (Relist). Also in parts, without other inputs of this kind and namespace in between: nothing of
// it shows before the last, and a first one starts over.
struct Relisted {
  const Kind* kind = nullptr;
  std::vector<Object> objects{};
  std::uint64_t version = 0;
  std::optional<Error> error{};  // refused for good: operators run without it (view/failures.hpp)
  std::string ns{};              // all objects of this namespace, see EngineOptions::namespaces
  bool first = true;
  bool last = true;
  bool early = false;  // begun before the last Relist was asked for: that is still to come
};
struct WriteResult {
  std::uint64_t id = 0;            // of the SendWrite
  std::optional<Object> object{};  // what the server returned
  std::optional<Error> error{};
  bool unknown = false;  // no answer: it may have happened
  std::optional<Duration> retry_after{};
};
// An answer of the outside world: to a Probe, to an Act (query "<verb>:<id>"), or unasked.
struct Observation {
  std::string query{};
  std::optional<Value> value{};
  std::optional<Error> error{};
  // The Probe that this answers; 0: it came unasked. An answer is dropped when news came unasked
  // after its question, or when the question has been put anew since: it may be older.
  std::uint64_t asked = 0;
};
struct Tick {};
// `now` has jumped: what the engine itself waits for moves along, and keys that sleep run to say
// anew when they want to wake.
struct ClockStep {
  Duration by{};
};
using Input = std::variant<WatchEvent, Relisted, WriteResult, Observation, Tick, ClockStep>;

// ---- effects
struct SendWrite {
  std::uint64_t id = 0;
  std::string_view op{};
  WriteRequest request{};
  bool urgent = false;  // of an operator that decides for every key: the more keys wait for it
};
struct Probe {
  std::string query{};
  std::uint64_t id = 0;  // never 0, of each question its own
};
// At most once per verb and id; the result comes back as an Observation.
struct Execute {
  std::string id{};
  std::string verb{};
  Value args{};
};
// List this kind anew: a live read after a timeout or an unknown outcome.
struct Relist {
  const Kind* kind = nullptr;
  std::string ns{};  // empty: everything that is watched of it
};
// Feed a Tick at `when` at the latest; replaces the former timer.
struct SetTimer {
  Instant when{};
};
using Effect = std::variant<SendWrite, Probe, Execute, Relist, SetTimer>;

struct EngineOptions {
  Entropy* entropy = nullptr;                          // jitter and event names; required
  std::map<std::string, Value, std::less<>> config{};  // what View::config answers
  // Kinds with namespaces are listed and watched in each of these alone; empty: everywhere.
  std::vector<std::string> namespaces{};
  Places places{};  // of the kinds in it, instead of `namespaces`
  // Of each kind so many objects are kept as they are, and those that are used all the time; the
  // rest is packed. For caches whose objects have no other owner.
  std::size_t warm_objects = std::numeric_limits<std::size_t>::max();
  Metrics* metrics = nullptr;
  const Clock* stopwatch = nullptr;  // measures reconciles for the metrics; no decision rests on it
  EngineTracer* tracer = nullptr;    // observes (tracer.hpp)
  std::vector<const Instruments*> instruments{};  // likewise, into the metrics
  bool events = true;                // false: no Event is written (it would have no reader)
  bool verify = false;               // reconcile twice and compare (P1); simulator and tests
  bool shuffle = false;              // take ready keys in an order that entropy chooses (simulator)
  std::size_t keys_per_run = 256;    // bounds one call of run(); the rest follows by the timer
  std::size_t steps_per_plan = 500;  // the rest follows on the next run of the key
  Duration barrier_timeout = std::chrono::seconds(10);
  Duration resync = std::chrono::hours(10);
  // Called for every plan, with how many objects and lists it was made from; for the simulator.
  std::function<void(const Operator& op, const Key& key, std::size_t reads, const Plan& plan)>
      on_reconcile{};
};

// One thread at a time. Operators must outlive it. The states of a key and what moves it between
// them: key_table.hpp, Task. The reactions to failed steps: reaction.hpp.
class Engine {
 public:
  Engine(std::span<const Operator* const> operators, EngineOptions options);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // Kinds to watch, in order of names. An operator's keys run once all its kinds have been listed.
  [[nodiscard]] std::span<const Kind* const> kinds() const;

  // Takes one input into account; cheap, runs no controller.
  void absorb(const Input& input, Instant now);
  // Runs ready keys and appends what is to be done.
  void run(Instant now, std::vector<Effect>& effects);
  // absorb() and run().
  void feed(const Input& input, Instant now, std::vector<Effect>& effects);

  // Shows the caches and observations as they are; what `reader` reads queues nothing.
  void look(const std::function<void(const View&)>& reader) const;

  // Nothing is ready, in flight or waiting for the caches (keys may sleep).
  [[nodiscard]] bool idle() const;
  // The earliest instant at which something becomes due by itself, resyncs left out.
  [[nodiscard]] std::optional<Instant> next_due() const;
  // The keys that are not at rest, at most `limit` of them: controller, key, state, reason,
  // backoff, error. O(keys known).
  [[nodiscard]] Value debug(Instant now, std::size_t limit) const;
  // What the instruments say of the caches now, in Prometheus' text form.
  [[nodiscard]] std::string state_metrics() const;
  // The object as the cache has it (for the dashboard, tests); valid until the next input or run.
  [[nodiscard]] const Object* cached(const Kind& kind, const Key& key) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace athanor::runtime
