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
#include "runtime/engine/engine_options.hpp"
#include "runtime/engine/messages.hpp"
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
  [[nodiscard]] std::string state_metrics(Instant now) const;
  // What this replica is, as instruments tell it: "standalone" (the default), "leader", "follower".
  void set_role(std::string_view role);
  // The object as the cache has it (for the dashboard, tests); valid until the next input or run.
  [[nodiscard]] const Object* cached(const Kind& kind, const Key& key) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace athanor::runtime
