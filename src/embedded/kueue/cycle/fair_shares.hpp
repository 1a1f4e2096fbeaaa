// SPDX-License-Identifier: Apache-2.0
// Dominant resource shares (docs/spec/kueue.md 7.9): how much more than its own a part of a cohort
// uses, for its weight.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "embedded/kueue/cycle/snapshot.hpp"

namespace athanor::kueue {

// How much more than its own a node uses, for its weight. A node without weight that borrows has a
// larger share than any node with one; two of them compare by what they borrow.
struct Share {
  bool infinite = false;
  double value = 0;  // unrounded
  [[nodiscard]] bool borrows() const { return infinite || value > 0; }
  // Returns the number of status and metrics: rounded up, the largest number for an infinite one.
  [[nodiscard]] std::int64_t reported() const;
  friend std::partial_ordering operator<=>(const Share&, const Share&) = default;
};

// Computes weighted shares in thousandths, and caches what each cohort can lend. Not thread-safe.
class FairShares {
 public:
  // Requires that the snapshot outlives it.
  explicit FairShares(const Snapshot& snapshot);
  // Returns the share; 0 without a cohort around the node, or without borrowing.
  [[nodiscard]] Share share(const QuotaTree& quota, QuotaTree::NodeId node);

 private:
  // Returns what may be used at most below a cohort, by resource.
  const std::vector<Amount>& lendable(QuotaTree::NodeId cohort);

  const Snapshot& snapshot_;
  std::vector<std::size_t> resources_{};  // by cell
  std::size_t resource_count_ = 0;
  std::vector<std::vector<Amount>> lendable_{};  // by node; empty: not computed yet
  std::vector<Amount> borrowed_{};               // by resource, of the node that is looked at
};

}  // namespace athanor::kueue
