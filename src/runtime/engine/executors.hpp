// SPDX-License-Identifier: Apache-2.0
// Executors: who carries out Act verbs and answers observations: what a driver (embedded or
// cluster) asks.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "kube/value/value.hpp"

namespace athanor::runtime {

// Filled before the driver starts, then only read. Functions run on the controllers thread and must
// not block: long work goes to a thread of their own, which calls the completion when it is done
// (any thread, once).
class Executors {
 public:
  using Completion = std::function<void(Result<Value>)>;
  using Act = std::function<void(const std::string& id, const Value& args, Completion done)>;
  using Probe = std::function<void(const std::string& query, Completion done)>;

  // Steps Act{.verb = verb}. The result becomes the observation "<verb>:<id>".
  void on_act(std::string verb, Act run) { acts_[std::move(verb)] = std::move(run); }
  // Observations whose query starts with `prefix` and ':' (or is the prefix).
  void on_probe(std::string prefix, Probe ask) { probes_[std::move(prefix)] = std::move(ask); }

  // Carries out "log.level" {"source", "level": "Normal" | "Debug" | "Trace" | "TraceAll"}: the
  // process logs at least as much as the most verbose source asks.
  void take_log_levels();

  // Returns nullptr if none is registered.
  [[nodiscard]] const Act* act(std::string_view verb) const;
  [[nodiscard]] const Probe* probe(std::string_view query) const;

 private:
  std::map<std::string, Act, std::less<>> acts_{};
  std::map<std::string, Probe, std::less<>> probes_{};
};

}  // namespace athanor::runtime
