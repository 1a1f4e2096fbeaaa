// SPDX-License-Identifier: Apache-2.0
// PodRuntime: what runs pods for the emulated kubelet: real processes, or nothing but time. The
// kubelet asks through Act steps ("pod.start", "pod.extend", "pod.stop", "pod.forget") and sees
// what became of it in the observation "pod:<ns>/<name>":
//
//   {uid: "", containers: [], init: []}                                nothing known of that name
//   {uid, stopping, containers: [state...], init: [state...], ephemeral: [state...] where some are,
//   events: [{number, type, reason, note}...] where some are not written yet,
//   volumes: {version, digest} where it has volumes with contents, resources: {container: its
//   resources} and resourcesVersion, evicted: why, where it has to end}
//   state: {name, state: "waiting" | "running" | "terminated", restarts, startedAt, finishedAt,
//   exitCode, reason, message, started, ready (while it runs), sidecar (of native ones)}
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/time.hpp"
#include "kube/value/value.hpp"

namespace athanor::nodes {

// Verbs of these Act steps.
inline constexpr std::string_view kStartVerb = "pod.start";
inline constexpr std::string_view kExtendVerb = "pod.extend";
inline constexpr std::string_view kStopVerb = "pod.stop";
inline constexpr std::string_view kForgetVerb = "pod.forget";
inline constexpr std::string_view kEventsVerb = "pod.events";
inline constexpr std::string_view kUpdateVerb = "pod.update";

// Returns the query that observes a pod.
std::string pod_query(std::string_view ns, std::string_view name);

// Runs the pods of one program. Thread-safe.
class PodRuntime {
 public:
  // Called with (query, state) whenever a pod's state changed; from any thread.
  using Listener = std::function<void(std::string query, Value state)>;

  virtual ~PodRuntime() = default;
  // Sets the listener; it must not call this. The former one is not called after the return.
  virtual void listen(Listener listener) = 0;
  // Starts a pod of sandbox_spec.hpp; a second start of the same uid does nothing.
  virtual void start(const Value& spec) = 0;
  // Starts the ephemeral containers of a running pod's spec that it does not know yet.
  virtual void extend(const Value& spec) = 0;
  // Ends its containers: a polite signal, then after `grace` a deadly one, to all their children.
  virtual void stop(const std::string& uid, Duration grace) = 0;
  // Takes what has changed of a pod: {uid, volumes, digest} (the contents of its volumes), {uid,
  // resources, limits, restarts} (a resize, and the containers that restart for it).
  virtual void update(const Value& change) = 0;
  // Records that the events of a pod up to this number are written.
  virtual void events_written(const std::string& uid, std::int64_t last) = 0;
  // Removes what is left of an ended pod: logs, directories.
  virtual void forget(const std::string& uid) = 0;
  // Returns the state by its query.
  [[nodiscard]] virtual Value state(std::string_view query) const = 0;
};

}  // namespace athanor::nodes
