// SPDX-License-Identifier: Apache-2.0
// What tasks may ask for and the embedded engine does not do. Such manifests are valid on a
// cluster, so they are accepted; admission warns, and an event of the TaskRun repeats it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kube/value/value.hpp"

namespace athanor::tekton {

// For a TaskRun itself.
inline constexpr std::string_view kDebugIgnored =
    "spec.debug has no effect: the embedded engine has no breakpoints";
// Returns one sentence for each such field of a task spec.
std::vector<std::string> ignored_fields(const Value& task_spec);
// Returns the sentences for an object of a Tekton kind, with the paths of its inline specs.
std::vector<std::string> ignored_fields_of(const Value& object);

}  // namespace athanor::tekton
