// SPDX-License-Identifier: Apache-2.0
// The formulas of docs/spec/kueue.md 7.6, one function each.
#include "embedded/kueue/cycle/quota_tree.hpp"

#include <algorithm>

namespace athanor::kueue {

QuotaTree::NodeId QuotaTree::add_node(std::optional<NodeId> parent) {
  quotas_->parents.push_back(parent);
  quotas_->by_node.emplace_back();
  return quotas_->parents.size() - 1;
}

QuotaTree::CellId QuotaTree::set_limits(NodeId node, const FlavorResource& cell,
                                        const Limits& limits) {
  const auto [at, fresh] = quotas_->cells.try_emplace(cell, quotas_->cells.size());
  if (fresh) {
    quotas_->by_name.emplace(
        std::pair<std::string_view, std::string_view>(at->first.flavor, at->first.resource),
        at->second);
  }
  std::vector<Quota>& own = quotas_->by_node[node];
  own.resize(std::max(own.size(), at->second + 1));
  own[at->second].limits = limits;
  return at->second;
}

void QuotaTree::finish() {
  const std::size_t cells = quotas_->cells.size();
  for (std::vector<Quota>& node : quotas_->by_node) {
    node.resize(cells);
    for (Quota& quota : node) {
      quota.subtree += quota.limits.nominal;
    }
  }
  std::vector<int>& heights = quotas_->heights;
  heights.assign(quotas_->by_node.size(), 0);
  // Children come after their parents, so walking backwards sums from the leaves up.
  for (NodeId id = quotas_->by_node.size(); id-- > 0;) {
    if (const std::optional<NodeId> parent = quotas_->parents[id]) {
      heights[*parent] = std::max(heights[*parent], heights[id] + 1);
      for (CellId cell = 0; cell < cells; ++cell) {
        const Quota& own = quotas_->by_node[id][cell];
        quotas_->by_node[*parent][cell].subtree += own.subtree - own.local();
      }
    }
  }
  usage_.assign(quotas_->by_node.size() * cells, 0);
}

std::optional<QuotaTree::CellId> QuotaTree::find(std::string_view flavor,
                                                 std::string_view resource) const {
  const auto at = quotas_->by_name.find({flavor, resource});
  return at == quotas_->by_name.end() ? std::nullopt : std::optional(at->second);
}

void QuotaTree::add_usage(NodeId node, CellId cell, Amount amount) {
  std::optional<NodeId> id = node;
  while (id && amount != 0) {
    Amount& used = usage_[*id * quotas_->cells.size() + cell];
    const Amount local = quota(*id, cell).local();
    const Amount above_before = std::max<Amount>(0, used - local);
    used += amount;
    amount = std::max<Amount>(0, used - local) - above_before;
    id = quotas_->parents[*id];
  }
}

void QuotaTree::add_usage(NodeId node, const FlavorResource& cell, Amount amount) {
  if (const auto known = find(cell.flavor, cell.resource)) {
    add_usage(node, *known, amount);
    return;
  }
  // Without quota nothing stays below the root.
  for (std::optional<NodeId> id = node; id; id = quotas_->parents[*id]) {
    strays_[{*id, cell}] += amount;
  }
}

Amount QuotaTree::usage(NodeId node, const FlavorResource& cell) const {
  const auto known = find(cell.flavor, cell.resource);
  return known ? usage(node, *known) : stray(node, cell);
}

Amount QuotaTree::available(NodeId node, CellId cell) const {
  const Quota& own = quota(node, cell);
  const std::optional<NodeId> parent = quotas_->parents[node];
  if (!parent) {
    return own.subtree - usage(node, cell);
  }
  const Amount local = own.local();
  Amount from_parent = available(*parent, cell);
  if (own.limits.borrowing) {
    const Amount taken = std::max<Amount>(0, usage(node, cell) - local);
    from_parent = std::min(from_parent, own.subtree - local - taken + *own.limits.borrowing);
  }
  return std::max<Amount>(0, local - usage(node, cell)) + from_parent;
}

Amount QuotaTree::available(NodeId node, const FlavorResource& cell) const {
  if (const auto known = find(cell.flavor, cell.resource)) {
    return available(node, *known);
  }
  while (const std::optional<NodeId> parent = quotas_->parents[node]) {
    node = *parent;
  }
  return -stray(node, cell);
}

Amount QuotaTree::max_capacity(NodeId node, CellId cell) const {
  const Quota& own = quota(node, cell);
  const std::optional<NodeId> parent = quotas_->parents[node];
  if (!parent) {
    return own.subtree;
  }
  const Amount capacity = own.local() + max_capacity(*parent, cell);
  return own.limits.borrowing ? std::min(capacity, own.subtree + *own.limits.borrowing) : capacity;
}

Amount QuotaTree::max_capacity(NodeId node, const FlavorResource& cell) const {
  const auto known = find(cell.flavor, cell.resource);
  return known ? max_capacity(node, *known) : 0;
}

Amount QuotaTree::nominal(NodeId node, CellId cell) const {
  return quota(node, cell).limits.nominal;
}

std::optional<Amount> QuotaTree::borrowing_limit(NodeId node, CellId cell) const {
  return quota(node, cell).limits.borrowing;
}

Amount QuotaTree::subtree(NodeId node, CellId cell) const {
  return quota(node, cell).subtree;
}

Amount QuotaTree::local_available(NodeId node, CellId cell) const {
  return std::max<Amount>(0, quota(node, cell).local() - usage(node, cell));
}

QuotaTree::Lowest QuotaTree::lowest_sufficient(NodeId node, CellId cell, Amount amount) const {
  std::optional<NodeId> parent = quotas_->parents[node];
  if (!parent || usage(node, cell) + amount <= subtree(node, cell)) {
    return {.height = 0, .is_part = parent.has_value()};
  }
  while (parent) {
    amount -= local_available(node, cell);
    node = *parent;
    parent = quotas_->parents[node];
    if (usage(node, cell) + amount <= subtree(node, cell)) {
      return {.height = quotas_->heights[node], .is_part = parent.has_value()};
    }
  }
  return {.height = quotas_->heights[node], .is_part = false};
}

int QuotaTree::borrow_height(NodeId node, CellId cell, Amount amount) const {
  return lowest_sufficient(node, cell, amount).height;
}

int QuotaTree::borrow_height(NodeId node, const FlavorResource& cell, Amount amount) const {
  if (const auto known = find(cell.flavor, cell.resource)) {
    return borrow_height(node, *known, amount);
  }
  if (stray(node, cell) + amount > 0) {
    while (quotas_->parents[node]) {
      node = *quotas_->parents[node];
    }
  }
  return quotas_->heights[node];
}

Amount QuotaTree::borrowed(NodeId node, const FlavorResource& cell) const {
  if (!quotas_->parents[node]) {
    return 0;
  }
  const auto known = find(cell.flavor, cell.resource);
  return std::max<Amount>(
      0, known ? usage(node, *known) - quota(node, *known).subtree : stray(node, cell));
}

const QuotaTree::Quota& QuotaTree::quota(NodeId node, CellId cell) const {
  return quotas_->by_node[node][cell];
}

Amount QuotaTree::usage(NodeId node, CellId cell) const {
  return usage_[node * quotas_->cells.size() + cell];
}

Amount QuotaTree::stray(NodeId node, const FlavorResource& cell) const {
  const auto at = strays_.find({node, cell});
  return at == strays_.end() ? 0 : at->second;
}

Amount QuotaTree::Quota::local() const {
  return limits.lending ? std::max<Amount>(0, subtree - *limits.lending) : 0;
}

}  // namespace athanor::kueue
