// SPDX-License-Identifier: Apache-2.0
// Conditions of the exporter's own pod (docs/spec/numa.md 9.10): its readiness gates.
#pragma once

#include "base/time.hpp"
#include "kube/value/object.hpp"
#include "kube/value/value.hpp"

namespace athanor::numa {

// Result of one round, as the conditions report it (docs/spec/numa.md 9.10).
struct RoundOutcome {
  bool scanned = false;  // List succeeded
  bool written = false;  // the object holds the content, or nothing is to be published
};

// Returns status.conditions of the pod with the two conditions set; Null where that changes
// nothing. After a failed scan nothing is known of the object: its condition stays.
Value pod_conditions(const Object& pod, const RoundOutcome& outcome, Instant now);

}  // namespace athanor::numa
