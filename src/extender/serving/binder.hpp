// SPDX-License-Identifier: Apache-2.0
// Binder: carries out one reservation and its binding, step by step, and takes the reservation back
// when the pod is certainly not bound (docs/spec/das.md 7.4).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "client/api_client.hpp"
#include "cluster/leadership.hpp"
#include "kube/value/object.hpp"
#include "runtime/view/plan.hpp"
#include "runtime/view/step.hpp"

namespace athanor::extender {

using KnownObjects = std::map<Ref, Object, RefOrder>;

// Steps about one pod and a node: a reservation and the binding that follows it, or the eviction of
// the pod.
struct Binding {
  Object pod{};
  std::string node{};
  std::vector<Step> steps{};  // of a binding the last one binds the pod
  KnownObjects known{};       // targets that are there already
};

// Outcome of a Binding; without `error` every step is done.
struct BindingResult {
  std::optional<Error> error{};
  // What it created and did not take back: it still counts.
  std::vector<Ref> left{};
};

// Carries out Bindings, any number at the same time. Owned by shared_ptr, which attempts extend.
class Binder : public std::enable_shared_from_this<Binder> {
 public:
  using Done = std::function<void(BindingResult result)>;

  // Writes while `leadership` leads (it outlives the binder); nullptr: at any time.
  Binder(std::shared_ptr<client::ApiClient> client, const cluster::Leadership* leadership)
      : client_(std::move(client)), leadership_(leadership) {}

  // Calls `done` once, on the client's thread.
  void start(Binding binding, Done done);

 private:
  struct Attempt;
  using AttemptPtr = std::shared_ptr<Attempt>;
  void next(const AttemptPtr& attempt);
  void send(const AttemptPtr& attempt, client::ApiRequest request,
            std::function<void(client::ApiResult)> then);
  void answered(const AttemptPtr& attempt, const Step& step, client::ApiResult result);
  // Reads the pod after a lost answer of the binding, or one that says that the pod is bound.
  void look(const AttemptPtr& attempt, const Error& error);
  void take_back(const AttemptPtr& attempt, Error error);

  std::shared_ptr<client::ApiClient> client_;
  const cluster::Leadership* leadership_;
};

}  // namespace athanor::extender
