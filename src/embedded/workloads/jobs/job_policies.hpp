// SPDX-License-Identifier: Apache-2.0
// What a job's own rules say: which failures count, when an index has failed, when enough has
// succeeded.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "embedded/workloads/jobs/job_indexes.hpp"
#include "kube/value/object.hpp"

namespace athanor::workloads {

// Annotations of pods: failures of their index before them, and those of them that did not count.
inline constexpr const char* kFailureCountKey = "batch.kubernetes.io/job-index-failure-count";
inline constexpr const char* kIgnoredCountKey =
    "batch.kubernetes.io/job-index-ignored-failure-count";

// What a pod's failure leads to.
enum class FailureAction : std::uint8_t { Count, Ignore, FailIndex, FailJob };
// The action of the rule that matched.
struct FailureVerdict {
  FailureAction action = FailureAction::Count;
  std::string message{};  // of FailJob: which rule, and why
};
// Applies the first matching rule of spec.podFailurePolicy to a failed pod; without one it counts.
FailureVerdict judge_failure(const Object& job, const Object& pod);

// Returns "Matched rules at index 0", when spec.successPolicy is satisfied.
std::optional<std::string> success_rule_met(const Object& job, const Indexes& completed);

// Failures of this index before this pod, as its annotation says.
std::int64_t failures_before(const Object& pod);
// Returns the ignored failures of this index before this pod, from the pod's annotation.
std::int64_t ignored_before(const Object& pod);
// Returns true if this failed pod fails its index (spec.backoffLimitPerIndex is given).
bool fails_index(const Object& job, const Object& pod);

}  // namespace athanor::workloads
