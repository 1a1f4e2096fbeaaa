// SPDX-License-Identifier: Apache-2.0
// Events of both groups (docs/spec/apiserver.md 14.4, Appendix T).
#pragma once

#include "embedded/kinds/cells.hpp"
#include "embedded/kinds/checks.hpp"
#include "embedded/kinds/kind_behaviour.hpp"

namespace athanor::apiserver {

// Returns the errors of an Event at create and at update; empty: valid. events.k8s.io has more
// rules.
FieldErrors validate_event(const Value& object, const KindContext& context);
FieldErrors validate_event_update(const Value& object, const Value& old_object,
                                  const KindContext& context);
// Returns the row of an Event.
Cells event_cells(const Value& object, Instant now);

}  // namespace athanor::apiserver
