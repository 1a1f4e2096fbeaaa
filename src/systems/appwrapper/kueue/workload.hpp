// SPDX-License-Identifier: Apache-2.0
// The Workload of an AppWrapper: what it must look like, and what its admission adds to the
// AppWrapper (docs/spec/appwrapper.md 4.3, 4.4). Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/kueue_integration.hpp"
#include "base/result.hpp"
#include "kube/value/object.hpp"
#include "kube/value/value.hpp"
#include "runtime/view/view.hpp"
#include "systems/appwrapper/model/kinds.hpp"
#include "systems/appwrapper/model/settings.hpp"

namespace athanor::appwrapper {

// Returns "appwrapper-sample-0b2f1".
std::string workload_name(const Object& app, api::kueue::NameLength longest);

// Returns the AppWrapper as the controller that owns its Workload.
Value owner_of_workload(const AppWrapper& app);
// Returns spec.podSets of the Workload.
Value workload_pod_sets(const AppWrapper& app);

// Returns true if a Workload holds what this AppWrapper asks for.
bool is_equivalent(const Object& workload, const AppWrapper& app);

// Priority of a Workload: spec.priorityClassRef and the class's value.
struct Priority {
  Value class_ref{};  // Null: none
  std::int64_t value = 0;
};
// Returns the priority. Errors: `WorkloadPriorityClass "<n>" not found`.
Result<Priority> priority_of(const View& view, const AppWrapper& app);

// Returns the Workload to create (docs/spec/appwrapper.md 4.3).
Value new_workload(const AppWrapper& app, const Priority& priority, const Queueing& queueing);

// Returns spec.components with the podSetInfos of an admitted Workload. Errors: `invalid podset
// infos: expecting <e> podsets, got <g>`, `invalid admission check PodSetUpdate: conflict for
// <field>: ...`.
Result<Value> started_components(const View& view, const AppWrapper& app, const Object& workload);
// Returns spec.components without podSetInfos.
Value stopped_components(const AppWrapper& app);

}  // namespace athanor::appwrapper
