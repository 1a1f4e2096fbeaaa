// SPDX-License-Identifier: Apache-2.0
#include "embedded/kueue/cycle/max_wait.hpp"

#include <algorithm>

namespace athanor::kueue {

bool is_overdue(const Snapshot& queues, const Object& workload, Instant now) {
  const auto queue =
      queues.local_queues.find({std::string(workload.ns()), workload.spec()["queueName"].str()});
  const auto created = workload.creation_time();
  return queue != queues.local_queues.end() && queue->second.max_wait && created &&
         now - *created > *queue->second.max_wait;
}

bool waits_for_others(const Assignment& assignment) {
  return std::ranges::all_of(assignment.pod_sets, [](const PodSetAssignment& pod_set) {
    return pod_set.reasons.empty() ||
           std::ranges::any_of(pod_set.reasons, [](const Reason& reason) {
             return reason.why == Reason::Why::NoneFree;
           });
  });
}

}  // namespace athanor::kueue
