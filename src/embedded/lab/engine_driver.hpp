// SPDX-License-Identifier: Apache-2.0
// EngineDriver: the engine in the embedded world: store events in, calls to the API server out, on
// one thread.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "embedded/apiserver/core/server.hpp"
#include "embedded/bridge/kind_feed.hpp"
#include "embedded/store/store.hpp"
#include "runtime/engine/executors.hpp"
#include "runtime/view/operator.hpp"

namespace athanor {
class Metrics;
struct Instruments;
}  // namespace athanor

namespace athanor::lab {

// What the engine works on.
struct DriverOptions {
  apiserver::Server* server =
      nullptr;  // all pointers but metrics are required and outlive the driver
  store::Store* store = nullptr;
  Clock* clock = nullptr;
  Entropy* entropy = nullptr;
  const runtime::Executors* executors = nullptr;
  Metrics* metrics = nullptr;
  std::vector<const Instruments*> instruments{};
  std::map<std::string, Value, std::less<>> config{};  // what View::config answers, by section
  bridge::StoredForms stored_forms{};  // of objects stored in older versions; may be empty
  // Which of the API server's own loops run, by name; empty: all.
  std::function<bool(std::string_view)> runs_loop{};
};

// Owns the controllers thread and the engine on it. start() and stop() from one thread; observe()
// from any.
class EngineDriver {
 public:
  EngineDriver(std::span<const Operator* const> operators, DriverOptions options);
  ~EngineDriver();  // stops
  EngineDriver(const EngineDriver&) = delete;
  EngineDriver& operator=(const EngineDriver&) = delete;

  // Lists every kind and begins to run. Fails when a kind cannot be listed.
  Result<void> start();
  // Returns after the write under way; queued keys are left to the next start.
  void stop();
  // Feeds an unasked answer of the outside world ("process exited").
  void observe(std::string query, Result<Value> answer);
  // Returns the instruments' figures of the caches, in Prometheus' text form; nothing when the
  // controllers thread does not answer within `patience`.
  [[nodiscard]] std::string state_metrics(Duration patience) const;
  // Returns the engine's state (Engine::debug) with at most `limit` keys. Errors: the controllers
  // thread does not answer within `patience`.
  [[nodiscard]] Result<Value> debug(std::size_t limit, Duration patience) const;
  // Returns true when no key is ready, writing or waiting for the caches and the inbox is empty.
  [[nodiscard]] bool idle() const;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;  // shared with completions that outlive the driver
};

}  // namespace athanor::lab
