// SPDX-License-Identifier: Apache-2.0
// Why a workload waits, in the words of both profiles (docs/spec/kueue.md 6.2, 6.3).
#pragma once

#include <cstdint>
#include <string_view>

namespace athanor::kueue {

// Why a workload has no quota.
enum class Waits : std::uint8_t {
  Evaluation,    // nothing was decided yet, or it was evicted
  Quota,         // it would fit if less was in use
  TooLarge,      // it asks for more than there is
  NoFlavor,      // no flavor matches
  Preemption,    // quota of others is being freed for it
  Namespace,     // its namespace is not selected
  Request,       // its requests cannot be counted
  NoQueue,       // a queue is missing
  QueueStopped,  // a queue takes no part
  PodsReady,     // others are not ready yet
  Gated          // an annotation holds it back
};
// Returns the reason of QuotaReserved False.
std::string_view reason_of(Waits why, bool granular);
// Returns the reason of Admitted False with quota reserved.
std::string_view unsatisfied_checks(bool granular);

}  // namespace athanor::kueue
