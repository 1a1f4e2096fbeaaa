// SPDX-License-Identifier: Apache-2.0
// Dominant resource shares (docs/spec/kueue.md 7.9): how much more than its own a part of a cohort
// uses, for its weight.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <vector>

#include "embedded/kueue/cycle/snapshot.hpp"

namespace athanor::kueue {

// Share of a node that borrows with weight 0.
inline constexpr std::int64_t kInfiniteShare = std::numeric_limits<std::int64_t>::max();

// Computes weighted shares in thousandths, and caches what each cohort can lend. Not thread-safe.
class FairShares {
 public:
  // The snapshot must outlive it.
  explicit FairShares(const Snapshot& snapshot);
  // 0 without a cohort around the node, or without borrowing.
  [[nodiscard]] std::int64_t share(const QuotaTree& quota, QuotaTree::NodeId node);

 private:
  // What may be used at most below a cohort, by resource.
  const std::vector<Amount>& lendable(QuotaTree::NodeId cohort);

  const Snapshot& snapshot_;
  std::vector<std::size_t> resources_{};  // by cell
  std::size_t resource_count_ = 0;
  std::map<QuotaTree::NodeId, std::vector<Amount>> lendable_{};
};

}  // namespace athanor::kueue
