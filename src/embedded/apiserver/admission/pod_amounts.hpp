// SPDX-License-Identifier: Apache-2.0
// What a pod asks for and may use in all, as the scheduler counts it.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "kube/text/quantity.hpp"
#include "kube/value/value.hpp"

namespace athanor::apiserver {

using Amounts = std::map<std::string, Quantity, std::less<>>;

// Containers and sidecars together, or the hungriest init container with the sidecars before it;
// overhead added. `list`: "requests" or "limits".
Amounts pod_amounts(const Value& pod_spec, std::string_view list);

}  // namespace athanor::apiserver
