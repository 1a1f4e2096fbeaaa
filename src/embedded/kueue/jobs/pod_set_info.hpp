// SPDX-License-Identifier: Apache-2.0
// What admission adds to the pods of a job, and how it is taken back (docs/spec/kueue.md 8.6,
// 10.1). Pure.
#pragma once

#include <vector>

#include "api/kueue_pod_set_info.hpp"
#include "base/result.hpp"
#include "kube/value/object.hpp"
#include "kube/value/value.hpp"
#include "runtime/view/view.hpp"

namespace athanor::kueue::jobs {

using api::kueue::PodSetInfo;

// Returns one for each pod set of an admitted Workload: the flavors' labels and tolerations, the
// names of queues, and what admission checks add. Errors: `invalid admission check PodSetUpdate:
// conflict for <field>: ...`.
Result<std::vector<PodSetInfo>> pod_set_infos(const View& view, const Object& workload);

// Adds the info to a pod template. Errors: `conflict for nodeSelector: conflict for key=<k>,
// value1=<a>, value2=<b>`.
Result<void> inject(Value& pod_template, const PodSetInfo& info);

// Takes labels, annotations and what places pods back from the template of the Workload.
void restore(Value& pod_template, const Value& original);

}  // namespace athanor::kueue::jobs
