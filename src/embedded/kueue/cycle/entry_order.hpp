// SPDX-License-Identifier: Apache-2.0
// In which order the heads of a round are settled where queues share by weight
// (docs/spec/kueue.md 7.4): from the root of a tree down, the branch that does not borrow what is
// requested goes first, then the one with the lowest share including the request.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "embedded/kueue/cycle/candidates.hpp"
#include "embedded/kueue/cycle/fair_shares.hpp"

namespace athanor::kueue {

// The head of a queue in one cycle: what it would take of each cell, and its queue order.
struct Entry {
  const ClusterQueue* queue = nullptr;
  CellAmounts usage{};
  QueueOrder order{};
};

// Orders the entries of one cycle by share. Not thread-safe.
class FairOrder {
 public:
  // Requires that all but the entries outlive it. The tree is the same after each call.
  FairOrder(const Snapshot& snapshot, QuotaTree& quota, FairShares& shares,
            std::vector<Entry> entries);
  // Returns the place of the next entry; the tree must have what the one before it took. nullopt:
  // none is left.
  std::optional<std::size_t> next();

 private:
  using NodeId = QuotaTree::NodeId;
  struct Standing {
    // Of its queue and of the cohorts around it, from below: whether the node borrows what is
    // requested, and its share.
    std::vector<std::pair<bool, Share>> shares{};
    bool known = false;
    bool open = true;
  };
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

  [[nodiscard]] NodeId root_of(NodeId node) const;
  void compute(std::size_t entry);
  // Returns the entry that wins below a cohort, at that depth of the shares; kNone: it has no entry
  // left.
  std::size_t winner_below(NodeId cohort);
  // Returns the standing of an entry where its branch meets the others below a cohort.
  [[nodiscard]] std::pair<bool, Share> share_below(std::size_t entry, NodeId cohort) const;
  void settle(std::size_t entry);

  const Snapshot& snapshot_;
  QuotaTree& quota_;
  FairShares& shares_;
  std::vector<Entry> entries_{};
  std::vector<Standing> standings_{};
  std::vector<std::size_t> by_node_{};
  std::vector<std::size_t> left_{};  // entries below a node
  std::size_t first_ = 0;
};

}  // namespace athanor::kueue
