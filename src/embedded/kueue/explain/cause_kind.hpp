// SPDX-License-Identifier: Apache-2.0
// Kinds of causes for which a Workload waits (docs/spec/dashboard.md B4.4).
#pragma once

#include <cstdint>
#include <string_view>

namespace athanor::kueue {

// Each ends by events of its own.
enum class CauseKind : std::uint8_t {
  Finished,
  Inactive,             // spec.active is false
  Evicted,              // holds its quota until its owner stops it
  HeldBack,             // by an annotation
  RequeueBackoff,       // is queued again later
  AdmissionCheck,       // a check is not Ready
  QueueMissing,         // no LocalQueue or ClusterQueue
  QueueInactive,        // stopped or inactive
  NamespaceNotMatched,  // namespaceSelector
  OthersFirst,          // workloads before it go first
  PodsNotReady,         // blockAdmission
  RequestRefused,       // the request breaks a rule, or a resource is not covered
  QuotaTooSmall,        // never enough
  QuotaInUse,
  FlavorExcluded,  // by taints or a selector
  Preempting,      // others are stopped for it
};
// Returns its name, as JSON has it: "QuotaInUse".
std::string_view cause_word(CauseKind kind);

}  // namespace athanor::kueue
