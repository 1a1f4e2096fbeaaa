// SPDX-License-Identifier: Apache-2.0
// ClusterDriver: the engine in the production world: lists and watches in, requests to the API
// server out. The counterpart of embedded/lab/engine_driver.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "client/api_client.hpp"
#include "client/feed.hpp"
#include "cluster/leadership.hpp"
#include "kube/value/value.hpp"
#include "runtime/engine/executors.hpp"
#include "runtime/view/operator.hpp"
#include "runtime/view/places.hpp"

namespace athanor {
class Metrics;
struct Instruments;
}  // namespace athanor
namespace athanor::runtime {
class EngineJournal;
class EngineTracer;
}  // namespace athanor::runtime

namespace athanor::cluster {

struct DriverOptions {
  // All pointers but metrics, tracer, leadership, journal and engine_entropy are required; all
  // outlive the driver.
  std::shared_ptr<client::ApiClient> client{};
  const Clock* clock = nullptr;
  Entropy* entropy = nullptr;
  const runtime::Executors* executors = nullptr;
  Metrics* metrics = nullptr;
  runtime::EngineTracer* tracer = nullptr;
  std::vector<const Instruments*> instruments{};
  Leadership* leadership = nullptr;                    // without: writes at any time
  std::map<std::string, Value, std::less<>> config{};  // what View::config answers, by section
  // Where kinds with namespaces are watched; empty: everywhere.
  std::vector<std::string> namespaces{};
  Places places{};                      // of the kinds in it, instead of `namespaces`
  std::vector<const Kind*> optional{};  // kinds that the cluster may lack
  // Narrows what is watched of a kind (labels, fields) and trims what is kept; empty: everything
  // but managedFields.
  std::function<void(client::FeedScope& scope)> narrow{};
  client::FeedOptions feed{};
  runtime::EngineJournal* journal = nullptr;  // looks on; may be null
  Entropy* engine_entropy = nullptr;          // of the engine alone; null: `entropy`
  // Writes of one controller under way at the same time, each of another key; the rest waits.
  std::size_t writes_per_controller = 128;
  bool held = false;  // no key runs before release(), whoever leads
  // Between two looks for OpenShift's APIServer in a cluster without (docs/spec/das.md 10.6).
  Duration platform_look = std::chrono::minutes(10);
};

// Owns the controllers thread and the engine on it. start(), drain() and stop() from one thread,
// the rest from any.
class ClusterDriver {
 public:
  ClusterDriver(std::span<const Operator* const> operators, DriverOptions options);
  ~ClusterDriver();  // stops
  ClusterDriver(const ClusterDriver&) = delete;
  ClusterDriver& operator=(const ClusterDriver&) = delete;

  // Begins to list and watch. Reconciles begin with lead(), or at once without a leadership.
  void start();
  // Leads, as the lease is ours: queued keys run. Until then caches stay warm, nothing is written.
  void lead();
  // Ends DriverOptions::held: keys run once we lead.
  void release();
  // Starts no reconcile any more and waits until what is under way has been answered; false: not
  // within `patience`.
  bool drain(Duration patience);
  void stop();

  // Feeds an unasked answer of the outside world.
  void observe(std::string query, Result<Value> answer);
  // Shows what the controllers see, on their thread, soon; never once stop() was called.
  void inspect(std::function<void(const View& view, Instant now)> reader);
  // Returns true once every kind has been listed, or refused for good.
  [[nodiscard]] bool synced() const;
  // Returns true while no key is ready, writing or waiting for the caches.
  [[nodiscard]] bool idle() const;
  // Returns the engine's state (Engine::debug), with what waits to be sent. Errors: the controllers
  // thread does not answer within `patience`.
  [[nodiscard]] Result<Value> debug(std::size_t limit, Duration patience) const;
  // Returns the instruments' figures of the caches, in Prometheus' text form; errors as of debug().
  [[nodiscard]] Result<std::string> state_metrics(Duration patience) const;
  // Returns the time for which the controllers thread has been busy; zero: it waits for news.
  [[nodiscard]] Duration busy_for() const;
  // Returns the watches: kind, namespace, state, version, last error.
  [[nodiscard]] Value watches() const;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;  // shared with completions that outlive the driver
};

}  // namespace athanor::cluster
