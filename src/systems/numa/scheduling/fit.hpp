// SPDX-License-Identifier: Apache-2.0
// Alignment of a pod on a node's zones (docs/spec/numa.md 11.3).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "systems/numa/scheduling/pod_request.hpp"
#include "systems/numa/scheduling/topology.hpp"

namespace athanor::numa {

// One decision of fit(): the zones that can serve one resource. `asked` is empty where the resource
// does not restrict zones.
struct FitStep {
  std::string container{};  // empty: the pod as a whole
  std::string resource{};
  std::int64_t amount = 0;
  std::vector<int> zones{};
  std::string note{};  // why the resource fails or restricts nothing
};
// All decisions of a filter run, for explanations.
struct FitTrace {
  std::vector<FitStep> steps{};
  std::vector<std::pair<std::string, int>> chosen{};  // container and zone
};

// Returns the lowest zone that serves all of the request; nullopt: none does. Without a resource
// that restricts zones that is zone 0.
std::optional<int> fit(const Amounts& request, bool guaranteed, const std::vector<Zone>& zones,
                       const Amounts& node_allocatable, FitTrace* trace = nullptr,
                       std::string_view container = {});

// Options of filter().
struct FilterOptions {
  // Filters nodes with policy restricted, too (docs/spec/numa.md 11.9).
  bool restricted = false;
};

// Returns why the pod cannot be aligned: the error's message is the scheduler's reason. The node's
// data are fresh.
Result<void> filter(const PodRequest& pod, const NodeTopology& topology,
                    const Amounts& node_allocatable, FitTrace* trace = nullptr,
                    const FilterOptions& options = {});
// Returns true where no zone matters to the pod: it passes even without fresh data.
bool passes_unseen(const PodRequest& pod);

// Scheduler's reason for a node whose data are not fresh.
inline constexpr const char* kStaleData = "invalid node topology data";

}  // namespace athanor::numa
