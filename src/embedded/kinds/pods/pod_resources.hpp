// SPDX-License-Identifier: Apache-2.0
// Amounts of a whole pod: those of its containers together, and those that the pod itself states in
// spec.resources, which replace them (docs/spec/apiserver.md 14.2).
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "embedded/kinds/checks.hpp"
#include "kube/text/quantity.hpp"
#include "kube/value/value.hpp"

namespace athanor::apiserver {

using Amounts = std::map<std::string, Quantity, std::less<>>;

// Checks for a resource that a pod can state for all of its containers: cpu, memory, huge pages.
bool is_pod_level_resource(std::string_view name);
// Returns true if spec.resources states an amount of such a resource.
bool has_pod_level_resources(const Value& pod_spec);

// Returns what containers and sidecars need together, or the largest init container with the
// sidecars before it. `list`: "requests" or "limits".
Amounts container_amounts(const Value& pod_spec, std::string_view list);
// Returns the same with the pod's own amounts in place of those of its containers.
Amounts pod_level_amounts(const Value& pod_spec, std::string_view list);

// Sets the missing requests, and limits of huge pages, of a spec with spec.resources.
void default_pod_resources(Value& pod_spec);
// Adds the errors of spec.resources, and of containers that do not fit in.
void check_pod_resources(FieldErrors& errors, const Value& pod_spec, const std::string& path);

}  // namespace athanor::apiserver
