// SPDX-License-Identifier: Apache-2.0
// Whose quota a workload may take (docs/spec/kueue.md 7.8): candidates, their order, the attempts,
// the smallest set that makes room.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "embedded/kueue/cycle/candidates.hpp"
#include "embedded/kueue/cycle/quota_tree.hpp"

namespace athanor::kueue {

// Why a workload is preempted; reason_of() names the values as clients see them.
enum class PreemptedFor : std::uint8_t {
  InClusterQueue,
  InCohortReclamation,
  InCohortFairSharing,
  InCohortReclaimWhileBorrowing
};
// Returns the reason of condition Preempted: "InClusterQueue".
std::string_view reason_of(PreemptedFor why);
// Returns the words of condition messages and events: "prioritization in the ClusterQueue".
std::string_view text_of(PreemptedFor why);

// A workload that was preempted so often gives way no more to who borrows by it: whatever
// priorities and shares say, preemption comes to rest (docs/decisions/preemption-circles.md).
inline constexpr std::int64_t kMostPreemptionsForBorrowers = 10;

// A workload to preempt. Valid as long as the HeldWorkloads it came from.
struct Target {
  const Held* held = nullptr;
  PreemptedFor why = PreemptedFor::InClusterQueue;
};

// A workload that asks for quota: what it takes, and the cells of which too little is free.
struct Claim {
  Preemptor preemptor{};
  CellAmounts usage{};
  std::vector<QuotaTree::CellId> scarce{};
};

// Subtracts what a workload holds from the tree.
void release(QuotaTree& quota, const Held& held);
// Adds it again.
void restore(QuotaTree& quota, const Held& held);

// Returns true if what a queue asks for is available; without borrowing: within its own quota.
bool fits(const QuotaTree& quota, const ClusterQueue& queue, const CellAmounts& usage,
          bool borrowing);

// Returns true if a node uses no more than its own quota of any of these cells.
bool within_nominal(const QuotaTree& quota, QuotaTree::NodeId node,
                    const std::vector<QuotaTree::CellId>& cells);

// Gives targets back, the last one found apart, as long as the claim still fits; then all that is
// left is given back to the tree, too.
void keep_fewest(QuotaTree& quota, const Claim& claim, bool borrowing,
                 std::vector<Target>& targets);

// Returns the targets; empty: preemption makes no room. The tree is the same afterwards.
std::vector<Target> preemption_targets(const Snapshot& snapshot, QuotaTree& quota,
                                       HeldWorkloads& held, const Claim& claim);

}  // namespace athanor::kueue
