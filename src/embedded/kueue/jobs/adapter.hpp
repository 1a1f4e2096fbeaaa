// SPDX-License-Identifier: Apache-2.0
// Adapter: what the job reconciler must know of one kind of jobs (docs/spec/kueue.md 10). Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kube/value/kind.hpp"
#include "kube/value/object.hpp"
#include "kube/value/value.hpp"
#include "runtime/view/view.hpp"

namespace athanor::kueue::jobs {

// Members on the way from an object's root; an item of a list by its index in digits.
using Place = std::vector<std::string>;

// Pods of one template of a job.
struct PodSetPlace {
  std::string name{};
  Place pod_template{};
  std::int64_t count = 1;
  std::optional<std::int64_t> min_count{};
};

// How a job ended, with the message of its condition.
struct Outcome {
  bool succeeded = false;
  std::string message{};
};

// Functions and constants of one job kind; a static of the kind's file.
struct Adapter {
  const Kind* kind = nullptr;
  std::string_view operator_name{};
  std::string_view framework{};                 // its name in integrations.frameworks: "batch/job"
  std::span<const std::string_view> suspend{};  // members on the way to the flag
  std::vector<PodSetPlace> (*pod_sets)(const Object& job) = nullptr;
  std::optional<Outcome> (*outcome)(const Object& job) = nullptr;
  // Returns true while pods of the job may still run.
  bool (*active)(const View& view, const Object& job) = nullptr;
  bool (*ready)(const View& view, const Object& job) = nullptr;
  // Returns status.reclaimablePods of its Workload; nullptr: it never has some.
  Value (*reclaimable)(const Object& job) = nullptr;
  // Runs a pod set with another number of pods; nullptr: the kind cannot.
  void (*set_count)(Value& job, const PodSetPlace& place, std::int64_t count) = nullptr;
  // status.startTime must go before a stopped job's template may change.
  bool has_start_time = false;
  // Kinds that `active` and `ready` read.
  std::span<const Kind* const> reads{};
};

// Returns the integrated kinds but plain pods and AppWrapper.
std::span<const Adapter* const> adapters();

// Returns the adapter of one kind (docs/spec/kueue.md 10).
const Adapter& batch_job();
const Adapter& job_set();
const Adapter& pytorch_job();
const Adapter& ray_cluster();
const Adapter& ray_job();

// Returns the value of the flag; false where there is none.
bool is_suspended(const Adapter& adapter, const Value& job);
// Sets the flag, and creates the objects on its path.
void set_suspended(const Adapter& adapter, Value& job, bool suspended);

// Returns the value there, or Null.
const Value& look_up(const Value& root, const Place& place);
// Returns the value there to be changed, or nullptr where the way ends before.
Value* reach(Value& root, const Place& place);

}  // namespace athanor::kueue::jobs
