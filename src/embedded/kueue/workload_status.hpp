// SPDX-License-Identifier: Apache-2.0
// The statuses the engine writes on Workloads, and the events that go with them
// (docs/spec/kueue.md 6.2, 8.1, 13).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "embedded/kueue/flavor_assigner.hpp"
#include "runtime/view/plan.hpp"

namespace athanor::kueue {

// Condition messages are cut here, event messages at 1024 bytes; both then end " ...".
inline constexpr std::size_t kConditionMessageLimit = 32768;
std::string cut(std::string text, std::size_t limit);

// Quota is reserved, and the workload admitted unless admission checks have a say.
void add_admission(Plan& plan, const Object& workload, const ClusterQueue& queue,
                   const Assignment& assignment, Instant now);
// All checks of a reserved workload became ready.
void add_checks_passed(Plan& plan, const Object& workload, Instant now);
// QuotaReserved False with this reason and message; nothing when it says so already. `requests` is
// what was looked at (may be empty).
void add_pending(Plan& plan, const Object& workload, std::string_view reason,
                 const std::string& message, const std::vector<PodSetRequests>& requests,
                 Instant now);
// Marks the workload evicted. Who owns it releases the quota (docs/spec/kueue.md 8.2).
void add_eviction(Plan& plan, const Object& workload, std::string_view reason,
                  const std::string& message, Instant now);
// Marks a workload evicted whose pods were not ready in time. It is not admitted again before
// `again` (docs/spec/kueue.md 8.3).
void add_timeout_eviction(Plan& plan, const Object& workload, std::int64_t count, Instant again,
                          Instant now);
// Deactivates a workload that was evicted so too often: condition DeactivationTarget and
// spec.active.
void add_deactivation(Plan& plan, const Object& workload, std::string_view reason,
                      const std::string& message, Instant now);
// The pause after an eviction is over.
void end_backoff(Plan& plan, const Object& workload, Instant now);
// Takes the reservation of a workload that is not admitted yet away.
void add_release(Plan& plan, const Object& workload, std::string_view reason,
                 const std::string& message, Instant now);
// Requeued True: the workload may be queued again.
void add_requeued(Plan& plan, const Object& workload, std::string_view reason,
                  std::string_view message, Instant now);

}  // namespace athanor::kueue
