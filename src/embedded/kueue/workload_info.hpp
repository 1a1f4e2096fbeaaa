// SPDX-License-Identifier: Apache-2.0
// A Workload as the admission engine reads it: state, place in the queue, effective requests.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "embedded/kueue/amounts.hpp"
#include "kube/value/object.hpp"

namespace athanor::kueue {

bool has_quota(const Object& workload);
bool is_finished(const Object& workload);
bool is_active(const Object& workload);
bool is_evicted(const Object& workload);

// Highest priority first, then oldest queue timestamp, then uid (docs/spec/kueue.md 7.2).
using QueueOrder = std::tuple<std::int64_t, std::string, std::string>;
QueueOrder queue_order(const Object& workload);

// The requests of one pod of a template (docs/spec/kueue.md 7.5): containers, init containers,
// overhead; limits stand in for missing requests; `defaults` (LimitRange) for what is still
// missing.
Amounts pod_requests(const Value& pod_spec, const Value& defaults);

struct PodSetRequests {
  std::string name{};
  std::int64_t count = 1;
  Amounts single_pod{};
  Amounts total{};
  Value pod_spec{};
};
std::vector<PodSetRequests> pod_set_requests(const Object& workload,
                                             const Value& limit_range_defaults);

// "resources validation failed: ..." when a container requests more than its limit, else empty.
std::string request_above_limit(const Object& workload);

// The quota a reserved workload holds, by flavor and resource, from status.admission.
std::vector<std::pair<FlavorResource, Amount>> held_quota(const Object& workload);

}  // namespace athanor::kueue
