// SPDX-License-Identifier: Apache-2.0
// What the integrations write on a job's Workload (docs/spec/kueue.md 6.2, 8.2). Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/kueue_integration.hpp"
#include "base/result.hpp"
#include "base/time.hpp"
#include "embedded/kueue/jobs/managed.hpp"
#include "kube/value/condition.hpp"
#include "kube/value/object.hpp"
#include "runtime/view/plan.hpp"
#include "runtime/view/view.hpp"

namespace athanor::kueue::jobs {

// Returns true if the condition of this type is True.
bool says(const Object& workload, std::string_view type);

// Gives a Workload without quota the annotation of its job that holds admission back. False: it has
// it so already.
bool follow_gate(Plan& plan, const Object& workload, const Object& job);

// Moves a Workload without quota to this queue. False: it is there already, or holds quota.
bool follow_queue(Plan& plan, const Object& workload, std::string_view queue);
// Gives a Workload the priority class that the label of its job names; without label, that of its
// pods, or none. False: it has it, or cannot change it while it holds quota. Fails if the class is
// missing. A prebuilt Workload keeps its class without label.
Result<bool> follow_priority(Plan& plan, const View& view, const Object& workload,
                             const Object& job);
// Returns the note about a priority class that a Workload with quota cannot change to that of its
// job's label.
std::optional<std::string> kept_priority(const Object& workload, const Object& job);

// Writes Finished True.
void write_finished(Plan& plan, const Object& workload, std::string_view reason,
                    std::string_view message, Instant now);
// Releases the quota: the job of an evicted Workload has stopped. `reason` is that of QuotaReserved
// False.
void release_quota(Plan& plan, const Object& workload, std::string_view reason, Instant now);
// Writes condition WaitingForReplacementPods of a pod group's Workload. False: it is so already.
bool write_replacements(Plan& plan, const Object& workload, bool wanted, Instant now);
// State of a job's pods, for the status of its Workload.
struct Readiness {
  bool admitted = false;
  bool ready = false;
  bool awaited = true;  // false: PodsReady is left alone (waitForPodsReady is off)
  Value reclaimable{};  // Null: none
};
// Writes PodsReady and reclaimablePods of a Workload where they differ from `readiness`.
void follow_readiness(Plan& plan, const Object& workload, const Readiness& readiness, Instant now);

}  // namespace athanor::kueue::jobs
