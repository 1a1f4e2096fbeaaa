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

enum class PreemptedFor : std::uint8_t {
  InClusterQueue,
  InCohortReclamation,
  InCohortFairSharing,
  InCohortReclaimWhileBorrowing
};
// The reason of condition Preempted, and what the messages say.
std::string_view reason_of(PreemptedFor why);
std::string_view text_of(PreemptedFor why);

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

// Takes from, or gives back to, the tree what a workload holds.
void release(QuotaTree& quota, const Held& held);
void restore(QuotaTree& quota, const Held& held);

// Whether what a queue asks for is available; without borrowing: within its own quota.
bool fits(const QuotaTree& quota, const ClusterQueue& queue, const CellAmounts& usage,
          bool borrowing);

// Whether a node uses no more than its own quota of any of these cells.
bool within_nominal(const QuotaTree& quota, QuotaTree::NodeId node,
                    const std::vector<QuotaTree::CellId>& cells);

// Gives targets back, the last one found apart, as long as the claim still fits; then all that is
// left is given back to the tree, too.
void keep_fewest(QuotaTree& quota, const Claim& claim, bool borrowing,
                 std::vector<Target>& targets);

// Empty: preemption makes no room. The tree is the same afterwards.
std::vector<Target> preemption_targets(const Snapshot& snapshot, QuotaTree& quota,
                                       HeldWorkloads& held, const Claim& claim);

}  // namespace athanor::kueue
