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
// The first rule of spec.podFailurePolicy that a failed pod matches; without one it counts.
FailureVerdict judge_failure(const Object& job, const Object& pod);

// "Matched rules at index 0", when spec.successPolicy is satisfied.
std::optional<std::string> success_rule_met(const Object& job, const Indexes& completed);

// Failures of this index before this pod, as its annotation says.
std::int64_t failures_before(const Object& pod);
// Those that did not count, likewise.
std::int64_t ignored_before(const Object& pod);
// Whether this failed pod fails its index (spec.backoffLimitPerIndex is given).
bool fails_index(const Object& job, const Object& pod);

}  // namespace athanor::workloads
