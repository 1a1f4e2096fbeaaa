// SPDX-License-Identifier: Apache-2.0
// The rules of the workload kinds (docs/spec/apiserver.md 14.4).
#pragma once

#include "embedded/kinds/checks.hpp"
#include "embedded/kinds/kind_behaviour.hpp"

namespace athanor::apiserver {

// Returns the errors of an object at create and at update, of its status where `context` names that
// subresource; empty: valid.
FieldErrors validate_deployment(const Value& object, const KindContext& context);
FieldErrors validate_deployment_update(const Value& object, const Value& old_object,
                                       const KindContext& context);
FieldErrors validate_replica_set(const Value& object, const KindContext& context);
FieldErrors validate_replica_set_update(const Value& object, const Value& old_object,
                                        const KindContext& context);
FieldErrors validate_replication_controller(const Value& object, const KindContext& context);
FieldErrors validate_replication_controller_update(const Value& object, const Value& old_object,
                                                   const KindContext& context);
FieldErrors validate_stateful_set(const Value& object, const KindContext& context);
FieldErrors validate_stateful_set_update(const Value& object, const Value& old_object,
                                         const KindContext& context);
FieldErrors validate_daemon_set(const Value& object, const KindContext& context);
FieldErrors validate_daemon_set_update(const Value& object, const Value& old_object,
                                       const KindContext& context);
FieldErrors validate_controller_revision(const Value& object, const KindContext& context);
FieldErrors validate_controller_revision_update(const Value& object, const Value& old_object,
                                                const KindContext& context);

}  // namespace athanor::apiserver
