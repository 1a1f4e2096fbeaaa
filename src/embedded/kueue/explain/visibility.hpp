// SPDX-License-Identifier: Apache-2.0
// The visibility API: which Workloads wait, and at which place (docs/spec/kueue.md 14).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kube/value/kind.hpp"
#include "kube/value/object.hpp"
#include "kube/value/value.hpp"
#include "runtime/view/served_group.hpp"
#include "runtime/view/view.hpp"

namespace athanor::kueue {

// A Workload that waits; positions count from 0.
struct PendingWorkload {
  Object workload{};
  std::int64_t in_cluster_queue = 0;
  std::int64_t in_local_queue = 0;
};

// Returns all that wait for a ClusterQueue, in the order of 7.2.
std::vector<PendingWorkload> pending_workloads(const View& view, std::string_view cluster_queue);

// Serves the group visibility.kueue.x-k8s.io, v1beta1 and v1beta2.
const ServedGroup& visibility_group();
// Returns the APIServices that name it, and their Service.
std::vector<Value> visibility_objects();

}  // namespace athanor::kueue
