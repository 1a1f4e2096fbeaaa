// SPDX-License-Identifier: Apache-2.0
// What may change in a pod's spec once it exists (docs/spec/apiserver.md 14.4).
#pragma once

#include "embedded/kinds/checks.hpp"

namespace athanor::apiserver {

// Checks pods/ephemeralcontainers: additions alone.
FieldErrors validate_ephemeral_update(const Value& pod, const Value& old_pod);
// Checks an update: images, deadlines, added tolerations, and of a gated pod what narrows its
// placement.
FieldErrors validate_pod_update(const Value& pod, const Value& old_pod);

}  // namespace athanor::apiserver
