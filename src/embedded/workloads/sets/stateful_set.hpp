// SPDX-License-Identifier: Apache-2.0
// The StatefulSet controller: pods with names and claims of their own, in order.
#pragma once

#include "runtime/view/operator.hpp"

namespace athanor::workloads {

// Returns the operator: pods, claims, ControllerRevisions and status of StatefulSets.
const Operator& stateful_set_operator();

}  // namespace athanor::workloads
