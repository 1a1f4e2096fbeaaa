// SPDX-License-Identifier: Apache-2.0
// The event that ends an obstacle of a waiting Workload (docs/spec/kueue.md 17). Pure.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "embedded/kueue/cycle/flavor_assigner.hpp"
#include "embedded/kueue/explain/cause_kind.hpp"

namespace athanor::kueue {

// Returns the event that ends condition Requeued=False with this reason.
std::string requeue_event(std::string_view reason);

// Returns the event that ends an admission check's state other than Ready.
std::string check_event(std::string_view state);

// An obstacle of a Workload's pod sets in the quota of its ClusterQueue.
struct QuotaObstacle {
  CauseKind kind = CauseKind::QuotaInUse;
  std::string text{};
  std::string unblocked_by{};
  bool lasts = false;  // quota that becomes free does not end it
};

// Returns every obstacle, those that last first; flavors that the pods may not use are left out
// where they may use others. Flavors that only lack free quota come before those whose quota is too
// small. `targets` is the number of workloads that are preempted for the assignment.
std::vector<QuotaObstacle> quota_obstacles(const Assignment& assignment, const ClusterQueue& queue,
                                           std::size_t targets);

// Returns the flavors that no pod set may use: by taint, by selector, or because they do not exist.
std::set<std::string> closed_flavors(const Assignment& assignment);

}  // namespace athanor::kueue
