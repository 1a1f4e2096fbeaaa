// SPDX-License-Identifier: Apache-2.0
// Events of both groups (docs/spec/apiserver.md 14.4, Appendix T).
#pragma once

#include "embedded/kinds/cells.hpp"
#include "embedded/kinds/checks.hpp"
#include "embedded/kinds/kind_behaviour.hpp"

namespace athanor::apiserver {

FieldErrors validate_event(const Value& object, const KindContext& context);
FieldErrors validate_event_update(const Value& object, const Value& old_object,
                                  const KindContext& context);
Cells event_cells(const Value& object, Instant now);

}  // namespace athanor::apiserver
