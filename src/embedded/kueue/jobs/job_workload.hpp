// SPDX-License-Identifier: Apache-2.0
// The Workload of a job: its name, content, priority, and whether it still fits
// (docs/spec/kueue.md 10.1). Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "api/kueue_integration.hpp"
#include "base/result.hpp"
#include "embedded/kueue/jobs/adapter.hpp"
#include "embedded/kueue/jobs/managed.hpp"
#include "kube/value/object.hpp"
#include "runtime/view/plan.hpp"
#include "runtime/view/view.hpp"

namespace athanor::kueue::jobs {

using api::kueue::NameLength;
// Returns the limit by the setting.
NameLength name_length(const Integrations& settings);
// Returns "job-train-0b2f1".
std::string workload_name(const Kind& kind, const Object& job, NameLength longest);

// Returns spec.podSets as the job asks for them; without partial admission without minimum.
Value pod_sets_of(const Adapter& adapter, const Integrations& settings, const Object& job);

// Returns spec.maximumExecutionTimeSeconds by the job's label, or Null.
Value max_execution_time(const Object& job);

// Returns true if a Workload holds what its job asks for. Counts and placement of a running job are
// the admission's.
bool is_equivalent(const Adapter& adapter, const Integrations& settings, const Object& workload,
                   const Object& job);

// The priority of a job's Workload, and the class it comes from.
struct Priority {
  Value class_ref{};  // Null: none
  std::int64_t value = 0;
};
// Returns that of the label's WorkloadPriorityClass, else of the PriorityClass of the first pod set
// that names one, else the global default, else 0. Errors: `WorkloadPriorityClass "<n>" not found`.
Result<Priority> priority_of(const View& view, const Object& job, const Value& pod_sets);

// Returns a Workload with these owners (values of ownerReferences).
Value new_workload(const std::string& name, const Object& job, Value owners, Value pod_sets,
                   const Priority& priority);

// Steps of several reconcilers. Returns the reference to a Workload.
Ref ref_to(const Object& workload);
// Returns the guard of a write: uid and resourceVersion as read.
Guard guard_for(const Object& object);
// Adds an event about the object to the plan.
void tell(Plan& plan, const Kind& kind, const Object& about, std::string_view reason,
          std::string note, std::string_view type = "Normal");
// Takes one finalizer off.
void drop_finalizer(Plan& plan, const Kind& kind, const Object& object, std::string_view finalizer);

}  // namespace athanor::kueue::jobs
