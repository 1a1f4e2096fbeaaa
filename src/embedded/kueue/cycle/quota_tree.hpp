// SPDX-License-Identifier: Apache-2.0
// Quota arithmetic on the tree ClusterQueue -> Cohort -> ... -> root (docs/spec/kueue.md 7.6).
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/text_hash.hpp"
#include "embedded/kueue/model/amounts.hpp"

namespace athanor::kueue {

// The quota of one node for one flavor and resource (cpu in milli units, otherwise whole units).
struct Limits {
  Amount nominal = 0;
  std::optional<Amount> borrowing{};  // nullopt: unlimited
  std::optional<Amount> lending{};    // nullopt: everything
};

// Copies share the quotas and have uses of their own.
class QuotaTree {
 public:
  using NodeId = std::size_t;
  using CellId = std::size_t;  // of a flavor and a resource that have quota somewhere

  // Parents before children.
  NodeId add_node(std::optional<NodeId> parent);
  CellId set_limits(NodeId node, const FlavorResource& cell, const Limits& limits);
  // Sums quotas upwards; after the last set_limits and before anything below.
  void finish();

  // Returns the cell; nullopt: no node of the tree has quota for this resource.
  [[nodiscard]] std::optional<CellId> find(std::string_view flavor,
                                           std::string_view resource) const;

  // Returns all cells that have quota somewhere, in order.
  [[nodiscard]] const std::map<FlavorResource, CellId>& cells() const { return quotas_->cells; }

  // Takes quota at a node (a negative amount gives back); what exceeds the node's own share counts
  // at its parent.
  void add_usage(NodeId node, CellId cell, Amount amount);
  void add_usage(NodeId node, const FlavorResource& cell, Amount amount);

  [[nodiscard]] std::optional<NodeId> parent(NodeId node) const { return quotas_->parents[node]; }
  [[nodiscard]] std::size_t nodes() const { return quotas_->parents.size(); }
  // Returns the node's own quota, its own borrowing limit, or the quota of the tree below it with
  // what may be lent.
  [[nodiscard]] Amount nominal(NodeId node, CellId cell) const;
  [[nodiscard]] std::optional<Amount> borrowing_limit(NodeId node, CellId cell) const;
  [[nodiscard]] Amount subtree(NodeId node, CellId cell) const;
  // Returns what is left of the share that the node keeps to itself.
  [[nodiscard]] Amount local_available(NodeId node, CellId cell) const;

  [[nodiscard]] Amount usage(NodeId node, CellId cell) const;
  [[nodiscard]] Amount usage(NodeId node, const FlavorResource& cell) const;
  // Returns what can still be taken; negative after quota was cut below its use.
  [[nodiscard]] Amount available(NodeId node, CellId cell) const;
  [[nodiscard]] Amount available(NodeId node, const FlavorResource& cell) const;
  // Returns what could be taken if nothing was in use.
  [[nodiscard]] Amount max_capacity(NodeId node, CellId cell) const;
  [[nodiscard]] Amount max_capacity(NodeId node, const FlavorResource& cell) const;
  // The lowest tree around the node whose quota holds the use with `amount`: its height (0: the
  // node's own quota), and whether it is a part of a larger one.
  struct Lowest {
    int height = 0;
    bool is_part = false;
  };
  [[nodiscard]] Lowest lowest_sufficient(NodeId node, CellId cell, Amount amount) const;
  // Returns the height of lowest_sufficient().
  [[nodiscard]] int borrow_height(NodeId node, CellId cell, Amount amount) const;
  [[nodiscard]] int borrow_height(NodeId node, const FlavorResource& cell, Amount amount) const;
  // Returns the use above the node's own quota; 0 without a parent.
  [[nodiscard]] Amount borrowed(NodeId node, const FlavorResource& cell) const;

 private:
  struct Quota {
    Limits limits{};
    Amount subtree = 0;
    // Returns the share of its quota that a node keeps to itself.
    [[nodiscard]] Amount local() const;
  };
  struct CellHash {
    std::size_t operator()(const std::pair<std::string_view, std::string_view>& cell) const {
      return hash_text(cell.first) * 31 + hash_text(cell.second);
    }
  };
  // Does not change after finish().
  struct Quotas {
    std::vector<std::optional<NodeId>> parents{};  // by node
    std::vector<int> heights{};                    // by node: 0 without children
    std::map<FlavorResource, CellId> cells{};
    // The same, by parts of the keys above.
    std::unordered_map<std::pair<std::string_view, std::string_view>, CellId, CellHash> by_name{};
    std::vector<std::vector<Quota>> by_node{};  // each by cell; of the cells known so far
  };
  [[nodiscard]] const Quota& quota(NodeId node, CellId cell) const;
  // Returns the use of a resource for which no node has quota.
  [[nodiscard]] Amount stray(NodeId node, const FlavorResource& cell) const;

  std::shared_ptr<Quotas> quotas_ = std::make_shared<Quotas>();
  std::vector<Amount> usage_{};  // node after node, each by cell
  std::map<std::pair<NodeId, FlavorResource>, Amount> strays_{};
};

}  // namespace athanor::kueue
