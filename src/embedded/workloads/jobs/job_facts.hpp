// SPDX-License-Identifier: Apache-2.0
// What a job and its pods amount to: counted once, whatever was counted before.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.hpp"
#include "embedded/workloads/jobs/job_indexes.hpp"
#include "kube/value/object.hpp"

namespace athanor::workloads {

// The finalizer of pods that are not counted yet, and the annotation with a pod's index.
inline constexpr const char* kTrackingFinalizer = "batch.kubernetes.io/job-tracking";
inline constexpr const char* kIndexKey = "batch.kubernetes.io/job-completion-index";

// A job, its pods by state, and what its status shall count.
struct JobFacts {
  Object job{};
  bool indexed = false;
  bool suspended = false;
  bool replace_failed_only = false;  // podReplacementPolicy Failed
  std::int64_t parallelism = 1;
  std::optional<std::int64_t> completions{};
  std::int64_t backoff_limit = 6;
  bool per_index = false;  // backoffLimitPerIndex: each index has its own limit

  std::vector<Object> pods{};         // all of this job, by name
  std::vector<Object> active{};       // neither finished nor being deleted
  std::vector<Object> terminating{};  // being deleted, not finished
  std::int64_t ready = 0;

  // Pods that have ended and whose finalizer may go once the status counts them.
  std::vector<Object> to_release{};
  // Ended pods that the counters do not contain yet; their finalizers may still be there.
  std::vector<std::string> uncounted_succeeded{};
  std::vector<std::string> uncounted_failed{};
  std::int64_t counted_succeeded = 0;
  std::int64_t counted_failed = 0;
  Indexes completed{};
  Indexes failed_indexes{};  // for good; only with per_index
  std::string
      failure_policy_says{};  // why the job fails by its podFailurePolicy; empty: it does not

  [[nodiscard]] std::int64_t succeeded() const;
  [[nodiscard]] std::int64_t failed() const;
};

// Requires as `pods` every pod that has this job as its controller.
JobFacts gather(const Object& job, std::vector<Object> pods);

// Returns true by condition Complete or Failed.
bool is_finished(const Object& job);
std::int64_t index_of(const Object& pod);  // -1: none
// Returns true by phase Succeeded.
bool pod_succeeded(const Object& pod);
// Returns true by phase Failed.
bool pod_failed(const Object& pod);

// Returns the earliest time for a new pod after failures in a row: 10 s doubling to 10 min after
// the last one. nullopt: at once.
std::optional<Instant> held_back_until(const JobFacts& facts);
// Returns the earliest time for a new pod of one index, with per_index; nullopt: at once.
std::optional<Instant> index_held_back_until(const JobFacts& facts, std::int64_t index);

}  // namespace athanor::workloads
