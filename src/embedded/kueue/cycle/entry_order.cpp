// SPDX-License-Identifier: Apache-2.0
// The tournament of docs/spec/kueue.md 7.4. A share of an entry changes only when another one
// settles below one of its cohorts.
#include "embedded/kueue/cycle/entry_order.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace athanor::kueue {

FairOrder::FairOrder(const Snapshot& snapshot, QuotaTree& quota, FairShares& shares,
                     std::vector<Entry> entries)
    : snapshot_(snapshot), quota_(quota), shares_(shares), entries_(std::move(entries)) {
  standings_.resize(entries_.size());
  by_node_.assign(snapshot.nodes.size(), kNone);
  left_.assign(snapshot.nodes.size(), 0);
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    by_node_[entries_[i].queue->node] = i;
    for (std::optional<NodeId> node = entries_[i].queue->node; node; node = quota_.parent(*node)) {
      ++left_[*node];
    }
  }
}

QuotaTree::NodeId FairOrder::root_of(NodeId node) const {
  while (const auto parent = quota_.parent(node)) {
    node = *parent;
  }
  return node;
}

void FairOrder::compute(std::size_t entry) {
  Standing& standing = standings_[entry];
  if (standing.known) {
    return;
  }
  standing.known = true;
  standing.shares.clear();
  const NodeId own = entries_[entry].queue->node;
  for (const auto& [cell, amount] : entries_[entry].usage) {
    quota_.add_usage(own, cell, amount);
  }
  for (NodeId node = own; quota_.parent(node); node = *quota_.parent(node)) {
    const bool borrows = std::ranges::any_of(entries_[entry].usage, [&](const auto& taken) {
      const auto& [cell, amount] = taken;
      return amount > 0 && quota_.usage(node, cell) > quota_.subtree(node, cell);
    });
    standing.shares.emplace_back(borrows, shares_.share(quota_, node));
  }
  for (const auto& [cell, amount] : entries_[entry].usage) {
    quota_.add_usage(own, cell, -amount);
  }
}

std::pair<bool, Share> FairOrder::share_below(std::size_t entry, NodeId cohort) const {
  std::size_t depth = 0;
  for (NodeId node = entries_[entry].queue->node; quota_.parent(node) != cohort;
       node = *quota_.parent(node)) {
    ++depth;
  }
  return standings_[entry].shares[depth];
}

std::size_t FairOrder::winner_below(NodeId cohort) {
  std::size_t best = kNone;
  std::pair<bool, Share> best_share;
  const auto consider = [&](std::size_t entry) {
    compute(entry);
    const std::pair<bool, Share> share = share_below(entry, cohort);
    if (best == kNone ||
        std::tie(share, entries_[entry].order) < std::tie(best_share, entries_[best].order)) {
      best = entry;
      best_share = share;
    }
  };
  for (const ClusterQueue* queue : snapshot_.nodes[cohort].queues) {
    if (left_[queue->node] > 0) {
      consider(by_node_[queue->node]);
    }
  }
  for (const NodeId child : snapshot_.nodes[cohort].cohorts) {
    if (left_[child] > 0) {
      consider(winner_below(child));
    }
  }
  return best;
}

void FairOrder::settle(std::size_t entry) {
  standings_[entry].open = false;
  const NodeId own = entries_[entry].queue->node;
  const NodeId root = root_of(own);
  for (std::optional<NodeId> node = own; node; node = quota_.parent(*node)) {
    --left_[*node];
  }
  // The shares of cohorts around it, and so of who else is in them, are others afterwards.
  const auto parent = quota_.parent(own);
  if (!parent || *parent == root) {
    return;
  }
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    if (standings_[i].open && root_of(entries_[i].queue->node) == root) {
      standings_[i].known = false;
    }
  }
}

std::optional<std::size_t> FairOrder::next() {
  while (first_ < entries_.size() && !standings_[first_].open) {
    ++first_;
  }
  if (first_ == entries_.size()) {
    return std::nullopt;
  }
  const NodeId root = root_of(entries_[first_].queue->node);
  const std::size_t winner = root == entries_[first_].queue->node ? first_ : winner_below(root);
  settle(winner);
  return winner;
}

}  // namespace athanor::kueue
