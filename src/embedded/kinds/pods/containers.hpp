// SPDX-License-Identifier: Apache-2.0
// The rules of one container (docs/spec/apiserver.md 14.4).
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "embedded/kinds/checks.hpp"
#include "embedded/kinds/resource_names.hpp"

namespace athanor::apiserver {

// Adds all errors of the container lists of a pod spec; `volumes` can be mounted.
void check_containers(FieldErrors& errors, const Value& spec, const std::set<std::string>& volumes,
                      const std::string& path);
// Checks limits and requests below `path`; `check_kind` adds the errors of the names.
void check_resources(FieldErrors& errors, const Value& resources, const std::string& path,
                     void (*check_kind)(FieldErrors& errors, const std::string& path,
                                        std::string_view name) = &check_container_resource);

}  // namespace athanor::apiserver
