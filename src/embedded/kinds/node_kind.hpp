// SPDX-License-Identifier: Apache-2.0
// Nodes (docs/spec/apiserver.md 14.4, Appendix T).
#pragma once

#include "embedded/kinds/cells.hpp"
#include "embedded/kinds/checks.hpp"
#include "embedded/kinds/kind_behaviour.hpp"

namespace athanor::apiserver {

// Returns the errors of a Node at create and at update; empty: valid.
FieldErrors validate_node(const Value& object, const KindContext& context);
FieldErrors validate_node_update(const Value& object, const Value& old_object,
                                 const KindContext& context);
// Makes podCIDR and podCIDRs agree, and allocatable the capacity where it is absent.
void default_node(Value& object, const KindContext& context);
// Sets an absent allocatable of an update.
void finish_node_update(Value& object, const Value& old_object, const KindContext& context);
// Returns the row of a Node.
Cells node_cells(const Value& object, Instant now);

}  // namespace athanor::apiserver
