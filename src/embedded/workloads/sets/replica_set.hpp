// SPDX-License-Identifier: Apache-2.0
// The ReplicaSet controller (apps/v1): keeps a number of equal pods running.
#pragma once

#include "runtime/view/operator.hpp"

namespace athanor::workloads {

// Counts the pods it controls; adopts orphans that match its selector, and releases pods whose
// labels have left it.
const Operator& replica_set_operator();
// Returns the same controller for ReplicationControllers.
const Operator& replication_controller_operator();

}  // namespace athanor::workloads
