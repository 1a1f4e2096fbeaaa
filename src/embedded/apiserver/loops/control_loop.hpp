// SPDX-License-Identifier: Apache-2.0
// ControlLoop: the server's own controllers that work on every resource, also on unknown ones
// at build time: garbage collection, namespace deletion, quotas (docs/spec/apiserver.md 17). An
// Operator names its kinds; these cannot.
#pragma once

#include <memory>
#include <optional>
#include <span>

#include "base/time.hpp"
#include "embedded/apiserver/core/server.hpp"
#include "embedded/kinds/resource_info.hpp"
#include "embedded/store/store.hpp"

namespace athanor::apiserver {

// Fed by the store's events, acts by requests of its own, asks no clock. One thread at a time.
class ControlLoop {
 public:
  virtual ~ControlLoop() = default;
  // Reads everything stored; once, before the first feed().
  virtual void start() = 0;
  // Notes what to look at; no requests.
  virtual void feed(std::span<const store::EventPtr> events) = 0;
  // Does what is due. Returns when it wants to run again if nothing else happens.
  virtual std::optional<Instant> run(Instant now) = 0;
};

// What a loop acts on. All outlive it.
struct LoopContext {
  store::Store& store;
  Server& server;
  const ResourceRegistry& registry;
};

// Makes the garbage collector (docs/spec/apiserver.md 17.2).
std::unique_ptr<ControlLoop> make_garbage_collector(const LoopContext& context);
// Makes the namespace controller (docs/spec/apiserver.md 17.1).
std::unique_ptr<ControlLoop> make_namespace_controller(const LoopContext& context);
// Recounts ResourceQuotas (docs/spec/apiserver.md 15.1, 17).
std::unique_ptr<ControlLoop> make_quota_controller(const LoopContext& context);
// Makes the loop that type-checks ValidatingAdmissionPolicies (docs/spec/apiserver.md 15.3).
std::unique_ptr<ControlLoop> make_policy_controller(const LoopContext& context);

}  // namespace athanor::apiserver
