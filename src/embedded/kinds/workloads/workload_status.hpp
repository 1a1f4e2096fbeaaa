// SPDX-License-Identifier: Apache-2.0
// The rules of what workloads say of themselves (docs/spec/apiserver.md 14.4).
#pragma once

#include "embedded/kinds/checks.hpp"

namespace athanor::apiserver {

// Return the errors of a status: counters not below 0, parts not above the whole, a collisionCount
// that does not fall. Empty: valid.
FieldErrors validate_deployment_status(const Value& status, const Value& old_status);
// For ReplicaSets and ReplicationControllers.
FieldErrors validate_replica_status(const Value& status);
FieldErrors validate_stateful_status(const Value& status, const Value& old_status);
FieldErrors validate_daemon_status(const Value& status);

}  // namespace athanor::apiserver
