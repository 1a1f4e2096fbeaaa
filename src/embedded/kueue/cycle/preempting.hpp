// SPDX-License-Identifier: Apache-2.0
// Preemption as a cycle asks for it: for a whole assignment, and for one cell of a flavor that is
// being tried (docs/spec/kueue.md 7.6, 7.8, 7.9).
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "embedded/kueue/cycle/fair_preemption.hpp"
#include "embedded/kueue/cycle/flavor_assigner.hpp"
#include "embedded/kueue/cycle/preemption.hpp"
#include "embedded/kueue/model/settings.hpp"

namespace athanor::kueue {

// Flavor assignment and preemption of one cycle. Not thread-safe.
class Preempting {
 public:
  // Requires that all outlive it. Each call leaves the tree as it is.
  Preempting(const View& view, const Snapshot& snapshot, QuotaTree& quota,
             const Settings& settings);
  // Bars preemption for this cell, except for a preemptor that may `pass`.
  void bar(QuotaTree::CellId cell) { barred_.insert(cell); }

  struct Result {
    Assignment assignment{};
    std::vector<Target> targets{};
    [[nodiscard]] bool admits() const { return assignment.mode == Mode::Fit || !targets.empty(); }
  };
  // Returns flavors for all pods, or for as many as its pod set with a minimum can be given (11.1),
  // and whom to preempt for them. Where a round admits nothing and left flavors untried, the next
  // round begins behind the flavors at which it stopped. Where no round admits, returns the first
  // one with the reasons of all.
  [[nodiscard]] Result nominate(const Preemptor& preemptor,
                                const std::vector<PodSetRequests>& requests, bool passes);
  // Returns which flavors were tried for an assignment (considered.hpp).
  [[nodiscard]] std::string considered(const Preemptor& preemptor,
                                       const std::vector<PodSetRequests>& requests,
                                       const Assignment& assignment, bool passes);
  [[nodiscard]] FairShares& shares();

 private:
  class Oracle;
  // Does one round of nominate().
  [[nodiscard]] Result nominate_from(const Places& starts, const Preemptor& preemptor,
                                     const std::vector<PodSetRequests>& requests, bool passes);
  [[nodiscard]] Result assign(const Places& starts, const Preemptor& preemptor,
                              const std::vector<PodSetRequests>& requests, bool passes);
  [[nodiscard]] AssignOptions options(Oracle& oracle, const Places& starts) const;
  [[nodiscard]] std::vector<Target> targets(const Claim& claim, bool passes);
  // Returns true if preemption may free quota of the cell; cheap.
  [[nodiscard]] bool may_gain(const Preemptor& preemptor, QuotaTree::CellId cell);

  const Snapshot& snapshot_;
  QuotaTree& quota_;
  const Settings& settings_;
  HeldWorkloads held_;
  std::optional<FairShares> shares_{};  // made when first asked for
  std::vector<FairStrategy> strategies_{};
  std::set<QuotaTree::CellId> barred_{};
};

}  // namespace athanor::kueue
