// SPDX-License-Identifier: Apache-2.0
// Chooses a flavor for every resource of a workload, or says why none fits
// (docs/spec/kueue.md 7.6, 7.7).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "embedded/kueue/cycle/snapshot.hpp"

namespace athanor::kueue {

// How well a flavor takes a request; the order is the engine's preference.
enum class Mode : std::uint8_t { NoFit, NoPreemptionCandidates, Preempt, Reclaim, Fit };

// Which label keys of a selector count when a flavor is matched (setting
// admission.flavorSelectorKeys).
enum class SelectorKeys : std::uint8_t { Group, Flavor };

// Why a flavor does not take a pod set, or no flavor can. Formatted lazily. Valid as long as the
// queue.
struct Reason {
  enum class Why : std::uint8_t { NotFound, Tainted, NoMatch, NoCapacity, NoneFree, NotCovered };
  Why why = Why::NotFound;
  std::string_view flavor{};
  std::string_view resource{};
  Amount earlier = 0;   // NoCapacity: what pod sets before asked for
  Amount request = 0;   // NoCapacity
  Amount limit = 0;     // NoCapacity; NoneFree: how much more is needed
  std::string named{};  // Tainted: the text; NotCovered: the resource
  [[nodiscard]] std::string text() const;
};

// What preemption could make free of one cell: Preempt, where the queue would take quota from
// itself, Reclaim or NoPreemptionCandidates; and how high up the queue would borrow then.
struct Possibility {
  Mode mode = Mode::NoPreemptionCandidates;
  int borrow_height = 0;
};
// Simulates preemption for the flavor assigner. The engine implements it per preemptor.
class PreemptionOracle {
 public:
  PreemptionOracle() = default;
  PreemptionOracle(const PreemptionOracle&) = delete;
  PreemptionOracle& operator=(const PreemptionOracle&) = delete;
  virtual ~PreemptionOracle() = default;
  // Returns true if preemption may free quota of the cell; cheap.
  [[nodiscard]] virtual bool may_gain(QuotaTree::CellId cell) = 0;
  virtual Possibility simulate(QuotaTree::CellId cell, Amount amount) = 0;
};

// An index of a flavor for each pod set and each of the queue's groups, in this order.
using Places = std::vector<std::size_t>;

// Settings of one flavor assignment.
struct AssignOptions {
  SelectorKeys keys = SelectorKeys::Group;
  // Asks what preemption could make free of every flavor tried, even where another one fits.
  bool simulates_all = false;
  PreemptionOracle* oracle = nullptr;  // nullptr: no preemption
  bool fair_sharing = false;
  // Leaves resources uncounted that the queue does not cover.
  bool ignores_undeclared = false;
  // Where each search begins; empty: with the first flavor.
  Places starts{};
};

// A flavor that was tried for the resources of a group, and how well it takes them.
struct Attempt {
  std::string_view flavor{};
  Mode mode = Mode::NoFit;
  int borrow_height = 0;
};

// The flavors chosen for one pod set, its usage (cpu in milli units), and why flavors were refused.
struct PodSetAssignment {
  std::string name{};
  std::int64_t count = 1;
  std::map<std::string, std::string> flavors{};  // resource to flavor
  Amounts usage{};
  std::vector<Reason> reasons{};
  std::vector<Attempt> attempts{};
  // Of the flavors that were tried where another one fits.
  std::vector<Reason> passed_over{};
};

// The flavors of a whole workload; `mode` is that of its worst resource.
struct Assignment {
  Mode mode = Mode::Fit;
  int borrow_height = 0;
  std::vector<PodSetAssignment> pod_sets{};
  // A flavor was passed over without asking what preemption could make free of it.
  bool guessed = false;
  // Of what it takes: where too little is free.
  std::vector<QuotaTree::CellId> scarce{};
  Places starts{};  // where its searches began
  // Behind the flavors that ended its searches; 0: no flavor is left to try.
  Places next{};
  // A pod set finds no flavor wherever the searches begin.
  bool hopeless = false;
  [[nodiscard]] bool leaves_flavors() const;
  // Returns true if it is for fewer pods than these.
  [[nodiscard]] bool is_partial(const std::vector<PodSetRequests>& requests) const;

  // Returns what the assignment takes, cell by cell.
  [[nodiscard]] std::vector<std::pair<QuotaTree::CellId, Amount>> usage(
      const QuotaTree& quota) const;
  // Returns "couldn't assign flavors to pod set main: ..." with sorted reasons; empty: all fits.
  [[nodiscard]] std::string message() const;
};

// Assigns flavors; `quota` includes what is in use.
Assignment assign_flavors(const QuotaTree& quota, const ClusterQueue& queue,
                          const std::vector<PodSetRequests>& pod_sets,
                          const AssignOptions& options = {});

}  // namespace athanor::kueue
