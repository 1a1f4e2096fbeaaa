// SPDX-License-Identifier: Apache-2.0
// The agent put together, and taken apart in order.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "agent/options.hpp"
#include "base/result.hpp"
#include "base/time.hpp"
#include "kube/value/value.hpp"

namespace athanor::agent {

// start() and stop() from one thread.
class Agent {
 public:
  Agent(Options options, std::map<std::string, std::string> environment);
  ~Agent();  // stops
  Agent(const Agent&) = delete;
  Agent& operator=(const Agent&) = delete;

  // Waits until the cluster and the GPUs are there; `pause` sleeps and answers whether to go on.
  // Errors end the program.
  Result<void> start(const std::function<bool(Duration)>& pause);
  void stop();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Checks whether the ClusterPolicy reports the GPU operator done (docs/spec/das.md 8.1 step 3).
bool policy_is_ready(const Value& policy);

}  // namespace athanor::agent
