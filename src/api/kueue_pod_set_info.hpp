// SPDX-License-Identifier: Apache-2.0
// What admission adds to the pods of a pod set, for every integration of Kueue (docs/spec/kueue.md
// 8.6, 10.1). Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "kube/value/object.hpp"
#include "kube/value/value.hpp"

namespace athanor::api::kueue {

// What admission adds to the template of one pod set, and the number of pods admitted.
struct PodSetInfo {
  std::string name{};
  std::int64_t count = 1;
  Value labels = Value::object();
  Value annotations = Value::object();
  Value node_selector = Value::object();
  Value tolerations = Value::list();
};

// Returns the flavors of a member of podSetAssignments, sorted, each once.
std::vector<std::string> assigned_flavors(const Value& assignment);

// Returns the info of one pod set of an admitted Workload: labels and tolerations of `flavors`
// (ResourceFlavors), the names of queues, and what admission checks add. Errors: `invalid admission
// check PodSetUpdate: conflict for <field>: ...`.
Result<PodSetInfo> pod_set_info(const Object& workload, const Value& assignment,
                                const std::vector<Object>& flavors);

// Adds the members of `from` to `into`. Errors: `conflict for <field>: conflict for key=<k>,
// value1=<a>, value2=<b>` where a key has another value already.
Result<void> merge_map(Value& into, const Value& from, std::string_view field);
// Appends the items of `from` that `into` lacks.
void merge_list(Value& into, const Value& from);

}  // namespace athanor::api::kueue
