// SPDX-License-Identifier: Apache-2.0
// The DaemonSet controller: a pod on every node that its template fits.
#pragma once

#include "runtime/view/operator.hpp"

namespace athanor::workloads {

// Returns the operator: pods, ControllerRevisions and status of DaemonSets.
const Operator& daemon_set_operator();

}  // namespace athanor::workloads
