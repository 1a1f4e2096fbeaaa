// SPDX-License-Identifier: Apache-2.0
// The rules of one container (docs/spec/apiserver.md 14.4).
#pragma once

#include <set>
#include <string>

#include "embedded/kinds/checks.hpp"

namespace athanor::apiserver {

// Adds all errors of the container lists of a pod spec; `volumes` can be mounted.
void check_containers(FieldErrors& errors, const Value& spec, const std::set<std::string>& volumes,
                      const std::string& path);
// Limits and requests of a container, below `path`.
void check_resources(FieldErrors& errors, const Value& resources, const std::string& path);

}  // namespace athanor::apiserver
