// SPDX-License-Identifier: Apache-2.0
// Pods that fail before any of their containers has started: a node refuses them, over and over.
// Their replacements wait, so that an owner makes few pods a minute however fast they fail. The
// wait follows from what the pods and the owner's status say, as controllers keep no memory.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/time.hpp"
#include "kube/value/object.hpp"
#include "kube/value/value.hpp"

namespace athanor::workloads {

// The condition of owners that delete their failed pods; it keeps since when pods fail to start.
inline constexpr const char* kStartFailure = "PodStartFailure";

// Returns true if the pod runs or a container of it has started.
[[nodiscard]] bool has_started(const Object& pod);
// Returns true if the pod has failed and none of its containers has started.
[[nodiscard]] bool failed_to_start(const Object& pod);
// Returns the reason and message of a pod that failed to start, for a person.
[[nodiscard]] std::string start_failure_text(const Object& pod);

// Returns when the next replacement is due after a failure at `failed`, if pods have failed to
// start since `since`: the wait doubles the time of trouble, from 10 s to 5 min.
[[nodiscard]] Instant replacement_due(Instant since, Instant failed);

// The pods of an owner that keeps failed pods, since the newest one that has started was made.
struct StartTrouble {
  Instant due{};        // of the next replacement
  std::string cause{};  // start_failure_text() of the latest failure
};
// Returns nullopt if no pod has failed to start since then.
[[nodiscard]] std::optional<StartTrouble> start_trouble(const std::vector<Object>& pods);

// Returns when `failed`, which failed to start, is due for deletion by an owner with these
// status.conditions.
[[nodiscard]] Instant removal_due(const Value& conditions, const Object& failed);
// Sets the condition kStartFailure while `failed` (one of the pods; null: none) is there, and
// removes it once `all_started`.
void note_start_failure(Value& conditions, const Object* failed, bool all_started, Instant now);

}  // namespace athanor::workloads
