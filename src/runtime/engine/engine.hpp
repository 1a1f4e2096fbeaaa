// SPDX-License-Identifier: Apache-2.0
// Engine: runs controllers. A machine from inputs to effects: no clock, no socket, no thread
// (docs/engine.md 1, 2).
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/time.hpp"
#include "kube/value/kind.hpp"
#include "kube/value/object.hpp"
#include "kube/value/value.hpp"
#include "runtime/engine/model/engine_options.hpp"
#include "runtime/engine/model/messages.hpp"
#include "runtime/view/operator.hpp"

namespace athanor::runtime {

// One thread at a time. Operators must outlive it. The states of a key and what moves it between
// them: key_table.hpp, Task. The reactions to failed steps: reaction.hpp.
class Engine {
 public:
  Engine(std::span<const Operator* const> operators, EngineOptions options);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // Returns the kinds to watch, by name. An operator's keys run once all its kinds are listed.
  [[nodiscard]] std::span<const Kind* const> kinds() const;

  // Takes one input into account; cheap, runs no controller.
  void absorb(const Input& input, Instant now);
  // Runs ready keys and appends what is to be done.
  void run(Instant now, std::vector<Effect>& effects);
  // Calls absorb() and run().
  void feed(const Input& input, Instant now, std::vector<Effect>& effects);

  // Shows the caches and observations as they are; what `reader` reads queues nothing.
  void look(const std::function<void(const View&)>& reader) const;

  // Returns true if nothing is ready, in flight or waiting for the caches (keys may sleep).
  [[nodiscard]] bool idle() const;
  // Returns the earliest instant at which something becomes due by itself, resyncs left out.
  [[nodiscard]] std::optional<Instant> next_due() const;
  // Returns the keys that are not at rest, at most `limit` of them: controller, key, state, reason,
  // backoff, error. O(keys known).
  [[nodiscard]] Value debug(Instant now, std::size_t limit) const;
  // Returns the caches' present metrics in Prometheus' text form.
  [[nodiscard]] std::string state_metrics(Instant now) const;
  // Sets the role in metrics: "standalone" (the default), "leader", "follower".
  void set_role(std::string_view role);
  // Returns the cached object (for the dashboard, tests); valid until the next input or run.
  [[nodiscard]] const Object* cached(const Kind& kind, const Key& key) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace athanor::runtime
