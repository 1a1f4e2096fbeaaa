// SPDX-License-Identifier: Apache-2.0
// Which resources may be counted where (docs/spec/apiserver.md 14.4).
#pragma once

#include <string>
#include <string_view>

#include "embedded/kinds/checks.hpp"

namespace athanor::apiserver {

// Checks for a name like "nvidia.com/gpu": counted in whole units, never overcommitted.
bool is_extended_resource(std::string_view name);
// Checks for a resource counted in whole units: pods, claims, extended resources.
bool is_counted_resource(std::string_view name);
// Checks a name in anything that lists amounts: qualified, or one of Kubernetes' own.
bool check_resource_name(FieldErrors& errors, const std::string& path, std::string_view name);
// Checks the name of a resource that a container requests in the same way.
void check_container_resource(FieldErrors& errors, const std::string& path, std::string_view name);
// Checks the name of a resource that a quota limits in the same way.
void check_quota_resource(FieldErrors& errors, const std::string& path, std::string_view name);
// Checks an amount of the resource: not negative, whole where it is counted.
void check_resource_amount(FieldErrors& errors, const std::string& path, std::string_view name,
                           const Value& quantity);

}  // namespace athanor::apiserver
