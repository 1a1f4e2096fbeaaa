// SPDX-License-Identifier: Apache-2.0
// The control plane's own controllers, beside those of the systems.
#pragma once

#include <string_view>
#include <vector>

#include "kube/value/value.hpp"
#include "runtime/view/operator.hpp"

namespace athanor::lab {

// Workloads and the scheduler. Queueing, pipelines and nodes are systems (product/list.hpp).
std::vector<const Operator*> embedded_operators();
// Returns true if an operator or loop does what kube-controller-manager or kube-scheduler does,
// under their name for it.
bool is_external(std::string_view name);
// Returns the objects that every lab has; made at the start when missing.
std::vector<Value> embedded_objects();

}  // namespace athanor::lab
