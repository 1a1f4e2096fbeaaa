// SPDX-License-Identifier: Apache-2.0
// The rules of what workloads say of themselves (docs/spec/apiserver.md 14.4).
#pragma once

#include "embedded/kinds/checks.hpp"

namespace athanor::apiserver {

// Returns the errors of a Deployment's status: counters not below 0, parts not above the whole, a
// collisionCount that does not fall. Empty: valid.
FieldErrors validate_deployment_status(const Value& status, const Value& old_status);
// Returns the errors of the status of a ReplicaSet or ReplicationController.
FieldErrors validate_replica_status(const Value& status);
// Returns the errors of the status of a StatefulSet.
FieldErrors validate_stateful_status(const Value& status, const Value& old_status);
// Returns the errors of a DaemonSet's status: counters not below 0.
FieldErrors validate_daemon_status(const Value& status);

}  // namespace athanor::apiserver
