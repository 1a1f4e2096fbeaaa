// SPDX-License-Identifier: Apache-2.0
// Service: the verbs put together: questions are answered on the controllers' thread from the
// caches and from what this process wrote since; bindings are carried out one step after another,
// each pod by itself. Answers while this replica leads and sees everything, else 503.
#pragma once

#include <functional>
#include <memory>
#include <span>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "client/api_client.hpp"
#include "cluster/leadership.hpp"
#include "extender/serving/server.hpp"
#include "kube/value/value.hpp"
#include "runtime/view/operator.hpp"
#include "runtime/view/scheduling.hpp"
#include "runtime/view/view.hpp"

namespace athanor {
class Metrics;
}

namespace athanor::extender {

// Collaborators of a Service.
struct ServiceOptions {
  // All outlive the service; leadership and metrics may be null.
  std::shared_ptr<client::ApiClient> client{};
  const Clock* clock = nullptr;
  const cluster::Leadership* leadership = nullptr;
  Metrics* metrics = nullptr;
  std::span<const SchedulingHooks* const> hooks{};
  std::span<const Index> indexes{};
  bool preempts = true;  // deletes pods of lower priority where the hooks alone refuse a pod
  // Runs a function with what the controllers see, on their thread; may drop it when they end.
  std::function<void(std::function<void(const View& view, Instant now)>)> inspect{};
};

// Thread-safe.
class Service {
 public:
  explicit Service(ServiceOptions options);
  ~Service();
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  // Records that everything was listed under this leadership.
  void on_first_lists();
  // Questions are answered.
  [[nodiscard]] bool ready() const;
  void ask(Verb verb, const Value& body, const ServerOptions::Answer& answer);

 private:
  struct State;
  std::shared_ptr<State> state_;  // shared with completions
};

}  // namespace athanor::extender
