// SPDX-License-Identifier: Apache-2.0
// Drain: evicts the pods of nodes whose configuration is about to change (docs/spec/numa.md 16.2),
// by the rules of the eviction API.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "base/time.hpp"
#include "kube/value/object.hpp"
#include "runtime/view/plan.hpp"
#include "runtime/view/view.hpp"

namespace athanor::numa {

// Drains the nodes of one plan. Takes at most one disruption from each budget: the next run sees
// its new status.
class Drain {
 public:
  Drain(const View& view, Instant now) : view_(view), now_(now) {}

  // Adds the evictions that budgets allow now; true: no pod is left besides those of DaemonSets,
  // mirror pods and pods that have ended.
  bool empties(const Object& node, Plan& plan);
  // Returns why the first pod of them stays; empty: every pod is leaving.
  [[nodiscard]] const std::string& obstacle() const { return obstacle_; }

 private:
  void evict(const Object& pod, Plan& plan);
  // Returns true if the pod may go. `plan` gets the step that takes it from its budget.
  bool budget_allows(const Object& pod, Plan& plan);

  const View& view_;
  Instant now_;
  std::set<Key> taken_{};
  std::string obstacle_{};
};

}  // namespace athanor::numa
