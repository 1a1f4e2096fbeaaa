// SPDX-License-Identifier: Apache-2.0
// What the agent has to be allowed, as objects to apply (docs/spec/das.md O-B8).
#pragma once

#include <string>
#include <vector>

#include "kube/value/value.hpp"

namespace athanor::agent {

// Returns ServiceAccount, roles and bindings `das-daemonset` in the operator's namespace, and the
// ValidatingAdmissionPolicy by which each agent writes objects of its own node alone.
std::vector<Value> rights_in(const std::string& ns);

}  // namespace athanor::agent
