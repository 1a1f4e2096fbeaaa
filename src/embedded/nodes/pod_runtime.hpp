// SPDX-License-Identifier: Apache-2.0
// PodRuntime: what runs pods for the emulated kubelet: real processes, or nothing but time. The
// kubelet asks through Act steps ("pod.start", "pod.extend", "pod.stop", "pod.forget") and sees
// what became of it in the observation "pod:<ns>/<name>":
//
//   {uid: "", containers: [], init: []}                                nothing known of that name
//   {uid, stopping, containers: [state...], init: [state...], ephemeral: [state...] where some are}
//   state: {name, state: "waiting" | "running" | "terminated", restarts, startedAt, finishedAt,
//   exitCode, reason, message}
#pragma once

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

// The observation of a pod.
std::string pod_query(std::string_view ns, std::string_view name);

// Runs the pods of one program. Thread-safe.
class PodRuntime {
 public:
  // Called with (query, state) whenever a pod's state changed; from any thread.
  using Listener = std::function<void(std::string query, Value state)>;

  virtual ~PodRuntime() = default;
  // After it returns, the listener of before is not called any more. Not to be called by it.
  virtual void listen(Listener listener) = 0;
  // Starts a pod of sandbox_spec.hpp; a second start of the same uid does nothing.
  virtual void start(const Value& spec) = 0;
  // Starts the ephemeral containers of a running pod's spec that it does not know yet.
  virtual void extend(const Value& spec) = 0;
  // Ends its containers: a polite signal, then after `grace` a deadly one, to all their children.
  virtual void stop(const std::string& uid, Duration grace) = 0;
  // Removes what is left of an ended pod: logs, directories.
  virtual void forget(const std::string& uid) = 0;
  // The state by its query.
  [[nodiscard]] virtual Value state(std::string_view query) const = 0;
};

}  // namespace athanor::nodes
