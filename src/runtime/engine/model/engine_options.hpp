// SPDX-License-Identifier: Apache-2.0
// How an engine runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/time.hpp"
#include "kube/value/value.hpp"
#include "runtime/view/operator.hpp"
#include "runtime/view/places.hpp"

namespace athanor {
class Metrics;
struct Instruments;
}  // namespace athanor

namespace athanor::runtime {

class EngineTracer;

// A wait for the caches that ended by EngineOptions::barrier_timeout.
struct ExpiredWait {
  struct Version {
    const Kind* kind = nullptr;
    std::uint64_t version = 0;
  };
  const Operator& op;
  const Key& key;
  std::vector<Version> versions{};  // that a watch did not pass
  std::vector<Ref> objects{};       // that did not change
};

struct EngineOptions {
  Entropy* entropy = nullptr;                          // jitter and event names; required
  std::map<std::string, Value, std::less<>> config{};  // what View::config answers
  // Kinds with namespaces are listed and watched in each of these alone; empty: everywhere.
  std::vector<std::string> namespaces{};
  Places places{};  // of the kinds in it, instead of `namespaces`
  // Unpacked objects per kind, besides those in constant use; less recently used ones are
  // packed. For caches whose objects have no other owner.
  std::size_t warm_objects = std::numeric_limits<std::size_t>::max();
  Metrics* metrics = nullptr;
  const Clock* stopwatch = nullptr;  // measures reconciles for the metrics; no decision rests on it
  EngineTracer* tracer = nullptr;    // observes (tracer.hpp)
  std::vector<const Instruments*> instruments{};  // likewise, into the metrics
  bool events = true;              // false: no Event is written (it would have no reader)
  bool verify = false;             // reconcile twice and compare (P1); simulator and tests
  bool shuffle = false;            // take ready keys in an order that entropy chooses (simulator)
  std::size_t keys_per_run = 256;  // bounds one call of run(); the rest follows by the timer
  std::size_t steps_per_plan = kStepsPerPlan;
  std::size_t writes_per_plan = 64;  // in flight, of plans with independent steps
  Duration barrier_timeout = std::chrono::seconds(10);
  Duration resync = std::chrono::hours(10);
  // Called for every plan, with how many objects and lists it was made from; for the simulator.
  std::function<void(const Operator& op, const Key& key, std::size_t reads, const Plan& plan)>
      on_reconcile{};
  // Called for every such wait; for the simulator.
  std::function<void(const ExpiredWait& wait)> on_expired_wait{};
};

}  // namespace athanor::runtime
