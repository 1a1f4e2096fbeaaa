// SPDX-License-Identifier: Apache-2.0
// What a pod asks for and may use in all, as the scheduler counts it.
#pragma once

#include <string_view>

#include "embedded/kinds/pods/pod_resources.hpp"
#include "kube/value/value.hpp"

namespace athanor::apiserver {

// Returns what pod_level_amounts() does, with the overhead. `list`: "requests" or "limits".
Amounts pod_amounts(const Value& pod_spec, std::string_view list);

}  // namespace athanor::apiserver
