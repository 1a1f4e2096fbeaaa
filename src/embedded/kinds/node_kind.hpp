// SPDX-License-Identifier: Apache-2.0
// Nodes (docs/spec/apiserver.md 14.4, Appendix T).
#pragma once

#include "embedded/kinds/cells.hpp"
#include "embedded/kinds/checks.hpp"
#include "embedded/kinds/kind_behaviour.hpp"

namespace athanor::apiserver {

FieldErrors validate_node(const Value& object, const KindContext& context);
FieldErrors validate_node_update(const Value& object, const Value& old_object,
                                 const KindContext& context);
void default_node(Value& object, const KindContext& context);
void finish_node_update(Value& object, const Value& old_object, const KindContext& context);
Cells node_cells(const Value& object, Instant now);

}  // namespace athanor::apiserver
