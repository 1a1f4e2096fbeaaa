// SPDX-License-Identifier: Apache-2.0
// The rules of one container (spec/apiserver.md 14.4).
#pragma once

#include <set>
#include <string>

#include "embedded/apiserver/kinds/checks.hpp"

namespace athanor::apiserver {

// All errors of the container lists of a pod spec.
void check_containers(FieldErrors& errors, const Value& spec, const std::string& path);
// Limits and requests of a container, below `path`.
void check_resources(FieldErrors& errors, const Value& resources, const std::string& path);
// "nvidia.com/gpu": counted in whole units, never overcommitted.
bool is_extended_resource(std::string_view name);

}  // namespace athanor::apiserver
