// SPDX-License-Identifier: Apache-2.0
// Names of Workloads and of groups that jobs and pods give: by an annotation, or by a label, which
// holds at most 63 characters.
#pragma once

#include <string_view>

#include "kube/value/object.hpp"
#include "runtime/view/operator.hpp"

namespace athanor::kueue::jobs {

// Returns the name of the job's prebuilt Workload; empty: it has none. Valid as long as `job`.
std::string_view prebuilt_name(const Object& job);
// Returns the name of the pod's group; empty: it is in none. Valid as long as `pod`.
std::string_view group_name(const Object& pod);

// Returns the index of the pods of a group: by "namespace/name".
const Index& group_index();

}  // namespace athanor::kueue::jobs
