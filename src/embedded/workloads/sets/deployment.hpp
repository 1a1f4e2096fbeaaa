// SPDX-License-Identifier: Apache-2.0
// The Deployment controller (apps/v1): rolls a template out through ReplicaSets.
#pragma once

#include "runtime/view/operator.hpp"

namespace athanor::workloads {

// Does RollingUpdate and Recreate, pause, rollback to an earlier template, history limit, progress
// deadline. Applies changes of size during a roll-out to the new ReplicaSet (not in proportion).
const Operator& deployment_operator();

}  // namespace athanor::workloads
