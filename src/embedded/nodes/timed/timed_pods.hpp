// SPDX-License-Identifier: Apache-2.0
// TimedPods: pods that take time and do nothing else: the machine behind the `timed` runtime and
// the simulator. No clock, no thread; the same calls give the same notices.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/time.hpp"
#include "embedded/nodes/pod_machine.hpp"
#include "kube/value/value.hpp"

namespace athanor::nodes {

// What a container does is said by the pod's annotation athanor.dev/simulate, an object whose
// members are "<pipeline task>/<step>" or "<container>":
//
//   {"load/run": {"seconds": 90, "exitCode": 1, "results": {"score": "7"}}}
//
// Without one it takes the time of the "sleep N" in its command, else that of its image in the lab
// file, else 0.1 s, and ends with 0; in a
// pod that always restarts (a server) it runs until it is stopped, once its init containers have
// ended. A polite signal ends it within 10 to 50 ms with 143. Costs O(log pods) an event.
class TimedPods {
 public:
  using Notices = std::vector<std::pair<std::string, Value>>;  // query and state, oldest first

  // Starts the pod of `spec` (sandbox_spec.hpp). A second start of the same uid does nothing.
  void start(const Value& spec, Instant now);
  // Adds the ephemeral containers of `spec`: nothing runs here that could be looked into, so each
  // ends at once with 128, a message and an event.
  void extend(const Value& spec, Instant now);
  void stop(const std::string& uid, Duration grace, Instant now);
  // Takes what has changed of a pod (PodRuntime::update); its volumes have no contents here.
  void update(const Value& change, Instant now);
  // Records that the pod's events up to this number are written.
  void events_written(const std::string& uid, std::int64_t last);
  // Removes a pod that has ended; leaves any other.
  void forget(const std::string& uid);
  // Returns what has happened until `now`, and what the calls above have changed since the last
  // time. Call it after them and at next_due().
  Notices advance(Instant now);
  [[nodiscard]] std::optional<Instant> next_due() const;
  // Returns what PodRuntime::state() does.
  [[nodiscard]] Value state(std::string_view query) const;

 private:
  struct Ending {
    Instant at{};
    int code = 0;
    std::string message{};
  };
  struct Pod {
    PodMachine machine;
    std::string query{};
    std::map<std::size_t, Ending> endings{};  // of running containers; without: they go on
    std::optional<Instant> due{};
  };

  void run(const std::string& uid, Pod& pod, Instant now);
  // Returns the ending; `index` counts init containers first. nullopt: it runs until stopped.
  [[nodiscard]] static std::optional<Ending> ending_of(const Value& spec, std::size_t index,
                                                       const Value& container, Instant now);

  std::map<std::string, Pod> pods_{};                           // by uid
  std::map<std::string, std::string, std::less<>> by_query_{};  // query to the newest uid
  std::set<std::pair<Instant, std::string>> schedule_{};
  Notices notices_{};
};

}  // namespace athanor::nodes
