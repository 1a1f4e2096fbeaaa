// SPDX-License-Identifier: Apache-2.0
// Quota arithmetic on the tree ClusterQueue -> Cohort -> ... -> root (spec/kueue.md 7.6).
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "embedded/kueue/amounts.hpp"

namespace athanor::kueue {

struct Limits {
  Amount nominal = 0;
  std::optional<Amount> borrowing{};  // nullopt: unlimited
  std::optional<Amount> lending{};    // nullopt: everything
};

class QuotaTree {
 public:
  using NodeId = std::size_t;

  // Parents before children.
  NodeId add_node(std::optional<NodeId> parent);
  void set_limits(NodeId node, FlavorResource cell, const Limits& limits);
  // Sums quotas upwards; after the last set_limits and before anything below.
  void finish();

  // Takes quota at a node (a negative amount gives back); what exceeds the node's own share counts
  // at its parent.
  void add_usage(NodeId node, const FlavorResource& cell, Amount amount);

  [[nodiscard]] Amount usage(NodeId node, const FlavorResource& cell) const;
  // What can still be taken; negative after quota was cut below its use.
  [[nodiscard]] Amount available(NodeId node, const FlavorResource& cell) const;
  // What could be taken if nothing was in use.
  [[nodiscard]] Amount max_capacity(NodeId node, const FlavorResource& cell) const;
  // 0 when the use with `amount` stays within the node's own quota, else how far up the tree it
  // borrows.
  [[nodiscard]] int borrow_height(NodeId node, const FlavorResource& cell, Amount amount) const;
  // Use above the node's own quota; 0 without a parent.
  [[nodiscard]] Amount borrowed(NodeId node, const FlavorResource& cell) const;

 private:
  struct Cell {
    Limits limits{};
    Amount subtree = 0;
    Amount usage = 0;
  };
  struct CellHash {
    std::size_t operator()(const FlavorResource& cell) const {
      const std::hash<std::string_view> hash;
      return hash(cell.flavor) * 31 + hash(cell.resource);
    }
  };
  struct Node {
    std::optional<NodeId> parent{};
    std::unordered_map<FlavorResource, Cell, CellHash> cells{};  // summed, in any order
  };
  [[nodiscard]] const Cell& cell(NodeId node, const FlavorResource& at) const;
  // The share of its quota that a node keeps to itself.
  [[nodiscard]] static Amount local_quota(const Cell& cell);

  std::vector<Node> nodes_{};
};

}  // namespace athanor::kueue
