// SPDX-License-Identifier: Apache-2.0
// The statuses the engine writes on Workloads, and the events that go with them
// (docs/spec/kueue.md 6.2, 8.1, 13).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "embedded/kueue/cycle/flavor_assigner.hpp"
#include "embedded/kueue/cycle/preemption.hpp"
#include "embedded/kueue/model/reasons.hpp"
#include "runtime/view/plan.hpp"

namespace athanor::kueue {

// Condition messages are cut here, event messages at 1024 bytes; both then end " ...".
inline constexpr std::size_t kConditionMessageLimit = 32768;
// Cuts a text to `limit` bytes with " ..." as its end; a shorter text stays.
std::string cut(std::string text, std::size_t limit);

// Quota is reserved, and the workload admitted unless admission checks have a say. The first step
// writes the status.
struct Reservation {
  const ClusterQueue& queue;
  const Assignment& assignment;
  std::string considered{};  // flavors; may be empty
  bool granular = false;
};
// Returns the status and events of a workload that gets quota.
Plan admission(const Object& workload, const Reservation& reservation, Instant now);
// Adds that all checks of a reserved workload became ready.
void add_checks_passed(Plan& plan, const Object& workload, Instant now);
// Returns the checks of a reserved workload as its ClusterQueue lists them now, with the states
// that are known.
Value checks_of(const Object& cluster_queue, const Object& workload, Instant now);
// Adds the other checks that a workload holding quota has now.
void add_checks(Plan& plan, const Object& workload, const Value& checks, bool granular,
                Instant now);
// QuotaReserved False with this reason and message; nothing when it says so already. `requests` is
// what was looked at (may be empty).
struct PendingReason {
  Waits why = Waits::Evaluation;
  bool granular = false;
};
// Writes why a workload waits.
void add_pending(Plan& plan, const Object& workload, const PendingReason& reason,
                 const std::string& message, const std::vector<PodSetRequests>& requests,
                 Instant now);

// Reason of an eviction by spec.active=false. With a cause, condition Evicted has the reason
// DeactivatedDueTo<Cause>.
inline constexpr const char* kDeactivated = "Deactivated";

// Marks the workload evicted. Who owns it releases the quota (docs/spec/kueue.md 8.2).
struct Eviction {
  std::string reason{};
  std::string message{};
  std::string cause{};          // underlying; may be empty
  Value requeue_state{};        // the new one, where the eviction changes it
  bool clears_requeue = false;  // it is removed
};
// Writes condition Evicted, resets the checks and adds the event.
void add_eviction(Plan& plan, const Object& workload, const Eviction& eviction, Instant now);
// Evicts a target for a workload of a queue, with both conditions and all events (7.8). The first
// step writes the status.
Plan preemption(const Snapshot& snapshot, const Object& preemptor, const ClusterQueue& queue,
                const Target& target, Instant now);
// Deactivates a workload: condition DeactivationTarget and spec.active.
void add_deactivation(Plan& plan, const Object& workload, std::string_view reason,
                      const std::string& message, Instant now);
// Removes what an inactive workload still has of its back-off.
void forget_backoff(Plan& plan, const Object& workload, Instant now);
// Ends the pause after an eviction.
void end_backoff(Plan& plan, const Object& workload, Instant now);
// Takes the reservation of a workload that is not admitted yet away.
void add_release(Plan& plan, const Object& workload, const PendingReason& reason,
                 const std::string& message, Instant now);
// Removes resourceRequests that another field manager wrote: applying admission keeps them.
void forget_requests(Plan& plan, const Object& workload, Instant now);
// Sets Requeued True: the workload may be queued again.
void add_requeued(Plan& plan, const Object& workload, std::string_view reason,
                  std::string_view message, Instant now);
// Sets it for one that was deactivated: nothing of that round counts any more.
void add_reactivated(Plan& plan, const Object& workload, Instant now);
// Adds an event about the workload.
void add_event(Plan& plan, const Object& workload, std::string_view type, std::string_view reason,
               const std::string& note);
// Returns for how long it has been admitted in all rounds, the present one included.
std::int64_t executed_seconds(const Object& workload, Instant now);

}  // namespace athanor::kueue
