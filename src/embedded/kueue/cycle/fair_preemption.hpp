// SPDX-License-Identifier: Apache-2.0
// Whose quota a workload may take where queues share by weight (docs/spec/kueue.md 7.9).
#pragma once

#include <cstdint>
#include <vector>

#include "embedded/kueue/cycle/fair_shares.hpp"
#include "embedded/kueue/cycle/preemption.hpp"

namespace athanor::kueue {

// Rules of fairSharing.preemptionStrategies: the preemptor's share is at most the donor's share
// after the preemption, or is below the donor's share before it.
enum class FairStrategy : std::uint8_t { LessThanOrEqualToFinalShare, LessThanInitialShare };

// Returns the targets; empty: preemption makes no room. Tries `strategies` in order, the second
// with those workloads that the first one spared. The tree is the same afterwards.
std::vector<Target> fair_preemption_targets(const Snapshot& snapshot, QuotaTree& quota,
                                            HeldWorkloads& held, FairShares& shares,
                                            const std::vector<FairStrategy>& strategies,
                                            const Claim& claim);

}  // namespace athanor::kueue
