// SPDX-License-Identifier: Apache-2.0
// Chooses a flavor for every resource of a workload, or says why none fits
// (docs/spec/kueue.md 7.6, 7.7).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "embedded/kueue/snapshot.hpp"

namespace athanor::kueue {

// How well a flavor takes a request; the order is the engine's preference. Preemption adds modes
// between the two ends.
enum class Mode : std::uint8_t { NoFit, NoPreemptionCandidates, Fit };

// Which label keys of a selector count when a flavor is matched (setting
// admission.flavorSelectorKeys).
enum class SelectorKeys : std::uint8_t { Group, Flavor };

// Why a flavor does not take a pod set, or no flavor can. It becomes a text only when somebody is
// told. Valid as long as the queue.
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

struct PodSetAssignment {
  std::string name{};
  std::int64_t count = 1;
  std::map<std::string, std::string> flavors{};  // resource to flavor
  Amounts usage{};
  std::vector<Reason> reasons{};
};

struct Assignment {
  Mode mode = Mode::Fit;
  int borrow_height = 0;
  std::vector<PodSetAssignment> pod_sets{};

  // What the assignment takes, by flavor and resource.
  [[nodiscard]] std::vector<std::pair<FlavorResource, Amount>> usage() const;
  // "couldn't assign flavors to pod set main: ..." with sorted reasons; empty when everything fits.
  [[nodiscard]] std::string message() const;
};

// `quota`: with what is in use.
Assignment assign_flavors(const QuotaTree& quota, const ClusterQueue& queue,
                          const std::vector<PodSetRequests>& pod_sets,
                          SelectorKeys keys = SelectorKeys::Group);

// True while what the assignment takes is still available.
bool still_fits(const QuotaTree& quota, const ClusterQueue& queue, const Assignment& assignment);

}  // namespace athanor::kueue
