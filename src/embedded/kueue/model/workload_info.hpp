// SPDX-License-Identifier: Apache-2.0
// A Workload as the admission engine reads it: state, place in the queue, effective requests.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "embedded/kueue/model/amounts.hpp"
#include "kube/value/object.hpp"

namespace athanor::kueue {

// Returns true if condition QuotaReserved is True.
bool has_quota(const Object& workload);
// Returns true if condition Finished is True.
bool is_finished(const Object& workload);
// Returns spec.active; true when absent.
bool is_active(const Object& workload);
// Returns true if condition Evicted is True.
bool is_evicted(const Object& workload);
std::int64_t times_preempted(const Object& workload);

// Highest priority first, then oldest queue timestamp, then uid (docs/spec/kueue.md 7.2).
using QueueOrder = std::tuple<std::int64_t, std::string, std::string>;
// Where a workload stands that was evicted because its pods were not ready in time: where the time
// of that puts it, or where it stood before (setting requeueTimestamp).
enum class RequeueTimestamp : std::uint8_t { Eviction, Creation };
// Returns the workload's place in the queue; smaller goes first.
QueueOrder queue_order(const Object& workload,
                       RequeueTimestamp timestamp = RequeueTimestamp::Eviction);
// Returns true if a workload waits for preemptions issued for it, by its QuotaReserved message.
bool awaits_preemption(const Object& workload);
// Begins the end of that message.
inline constexpr std::string_view kPendingPreemption = ". Pending the preemption of ";

// Returns the requests of one pod of a template (docs/spec/kueue.md 7.5): containers, init
// containers, what the pod requests as a whole, overhead; limits stand in for missing requests;
// `defaults` (LimitRange) for what is still missing.
Amounts pod_requests(const Value& pod_spec, const Value& defaults);

// Effective requests of one pod set; cpu in milli units, the rest in whole units.
struct PodSetRequests {
  std::string name{};
  std::int64_t count = 1;                   // of pods that still need quota
  std::optional<std::int64_t> min_count{};  // it can run with
  Amounts single_pod{};
  Amounts total{};
  Value pod_spec{};
  // Sets the count and the total.
  void set_count(std::int64_t pods);
};
// Counts and pod specs alone.
std::vector<PodSetRequests> pod_set_counts(const Object& workload);
// Returns pod sets with requests, as far as the workload itself has them.
std::vector<PodSetRequests> pod_set_requests(const Object& workload,
                                             const Value& limit_range_defaults);

// Returns "resources validation failed: ..." when a container requests more than its limit, or "".
std::string request_above_limit(const Object& workload);

// Returns the quota a reserved workload holds, by flavor and resource, from status.admission.
std::vector<std::pair<FlavorResource, Amount>> held_quota(const Object& workload);

}  // namespace athanor::kueue
