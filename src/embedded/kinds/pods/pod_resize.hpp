// SPDX-License-Identifier: Apache-2.0
// pods/NAME/resize (docs/spec/apiserver.md 12.3): the resources of running containers.
#pragma once

#include "embedded/kinds/checks.hpp"

namespace athanor::apiserver {

// Returns the old spec with the containers' resources of the new one. Containers of other names or
// in another order are those of the new one, which validate_pod_resize() refuses.
Value resized_spec(const Value& spec, const Value& old_spec);
// Checks what the spec of a resize changes: amounts of cpu and memory alone, none of them removed,
// and the class of quality stays.
FieldErrors validate_pod_resize(const Value& pod, const Value& old_pod);

}  // namespace athanor::apiserver
