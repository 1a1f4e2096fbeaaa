// SPDX-License-Identifier: Apache-2.0
// When a cluster is ready for an agent: what the GPU operator says of itself.
#include "agent/agent.hpp"
#include "base/ascii.hpp"
#include "kube/value/condition.hpp"

namespace athanor::agent {

bool policy_is_ready(const Value& policy) {
  if (lower(policy["status"]["state"].as_string()) == "ready") {
    return true;
  }
  const Value ready = find_condition(policy["status"]["conditions"], "Ready");
  return lower(ready["status"].as_string()) == "true";
}

}  // namespace athanor::agent
