// SPDX-License-Identifier: Apache-2.0
// The formulas of spec/kueue.md 7.6, one function each.
#include "embedded/kueue/quota_tree.hpp"

#include <algorithm>
#include <utility>

namespace athanor::kueue {

QuotaTree::NodeId QuotaTree::add_node(std::optional<NodeId> parent) {
  nodes_.push_back(Node{.parent = parent});
  return nodes_.size() - 1;
}

void QuotaTree::set_limits(NodeId node, FlavorResource cell, const Limits& limits) {
  nodes_[node].cells[std::move(cell)].limits = limits;
}

void QuotaTree::finish() {
  for (Node& node : nodes_) {
    for (auto& [at, cell] : node.cells) {
      cell.subtree += cell.limits.nominal;
    }
  }
  // Children come after their parents, so walking backwards sums from the leaves up.
  for (NodeId id = nodes_.size(); id-- > 0;) {
    const Node& node = nodes_[id];
    if (!node.parent) {
      continue;
    }
    for (const auto& [at, cell] : node.cells) {
      nodes_[*node.parent].cells[at].subtree += cell.subtree - local_quota(cell);
    }
  }
}

void QuotaTree::add_usage(NodeId node, const FlavorResource& at, Amount amount) {
  std::optional<NodeId> id = node;
  while (id && amount != 0) {
    Cell& cell = nodes_[*id].cells[at];
    const Amount local = local_quota(cell);
    const Amount above_before = std::max<Amount>(0, cell.usage - local);
    cell.usage += amount;
    amount = std::max<Amount>(0, cell.usage - local) - above_before;
    id = nodes_[*id].parent;
  }
}

Amount QuotaTree::usage(NodeId node, const FlavorResource& at) const {
  return cell(node, at).usage;
}

Amount QuotaTree::available(NodeId node, const FlavorResource& at) const {
  const Cell& own = cell(node, at);
  const std::optional<NodeId> parent = nodes_[node].parent;
  if (!parent) {
    return own.subtree - own.usage;
  }
  const Amount local = local_quota(own);
  Amount from_parent = available(*parent, at);
  if (own.limits.borrowing) {
    const Amount taken = std::max<Amount>(0, own.usage - local);
    from_parent = std::min(from_parent, own.subtree - local - taken + *own.limits.borrowing);
  }
  return std::max<Amount>(0, local - own.usage) + from_parent;
}

Amount QuotaTree::max_capacity(NodeId node, const FlavorResource& at) const {
  const Cell& own = cell(node, at);
  const std::optional<NodeId> parent = nodes_[node].parent;
  if (!parent) {
    return own.subtree;
  }
  const Amount capacity = local_quota(own) + max_capacity(*parent, at);
  return own.limits.borrowing ? std::min(capacity, own.subtree + *own.limits.borrowing) : capacity;
}

int QuotaTree::borrow_height(NodeId node, const FlavorResource& at, Amount amount) const {
  int height = 0;
  std::optional<NodeId> id = node;
  while (id) {
    const Cell& own = cell(*id, at);
    const std::optional<NodeId> parent = nodes_[*id].parent;
    if (!parent || own.usage + amount <= own.subtree) {
      return height;
    }
    amount -= std::max<Amount>(0, local_quota(own) - own.usage);
    id = parent;
    ++height;
  }
  return height;
}

Amount QuotaTree::borrowed(NodeId node, const FlavorResource& at) const {
  const Cell& own = cell(node, at);
  return nodes_[node].parent ? std::max<Amount>(0, own.usage - own.subtree) : 0;
}

const QuotaTree::Cell& QuotaTree::cell(NodeId node, const FlavorResource& at) const {
  static const Cell kNone{};
  const auto found = nodes_[node].cells.find(at);
  return found == nodes_[node].cells.end() ? kNone : found->second;
}

Amount QuotaTree::local_quota(const Cell& cell) {
  return cell.limits.lending ? std::max<Amount>(0, cell.subtree - *cell.limits.lending) : 0;
}

}  // namespace athanor::kueue
