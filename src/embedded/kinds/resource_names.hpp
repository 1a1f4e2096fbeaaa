// SPDX-License-Identifier: Apache-2.0
// Which resources may be counted where (docs/spec/apiserver.md 14.4).
#pragma once

#include <string>
#include <string_view>

#include "embedded/kinds/checks.hpp"

namespace athanor::apiserver {

// "nvidia.com/gpu": counted in whole units, never overcommitted.
bool is_extended_resource(std::string_view name);
// Counted in whole units: pods, claims, extended resources.
bool is_counted_resource(std::string_view name);
// A name in anything that lists amounts: qualified, or one of Kubernetes' own.
bool check_resource_name(FieldErrors& errors, const std::string& path, std::string_view name);
// The same for what a container may ask for.
void check_container_resource(FieldErrors& errors, const std::string& path, std::string_view name);
// The same for what a quota may limit.
void check_quota_resource(FieldErrors& errors, const std::string& path, std::string_view name);
// An amount of it: not negative, whole where it is counted.
void check_resource_amount(FieldErrors& errors, const std::string& path, std::string_view name,
                           const Value& quantity);

}  // namespace athanor::apiserver
