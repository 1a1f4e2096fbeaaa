// SPDX-License-Identifier: Apache-2.0
// One's own fleet as a lab file for `athanor simulate`. Pure.
#pragma once

#include <string>
#include <vector>

#include "kube/value/object.hpp"
#include "kube/value/value.hpp"

namespace athanor::views {

// Inputs of a fleet.
struct FleetSource {
  std::string ns{};  // of the jobs
  std::vector<Object> cluster_queues{};
  std::vector<Object> local_queues{};
  std::vector<Object> priorities{};  // WorkloadPriorityClasses
};
// Returns a lab file (docs/lab.md) with a cluster for each flavor of the ClusterQueues that the
// namespace's queues use; quotas of one flavor add up.
Value fleet_of(const FleetSource& source);

}  // namespace athanor::views
