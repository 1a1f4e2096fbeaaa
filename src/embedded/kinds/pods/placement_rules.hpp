// SPDX-License-Identifier: Apache-2.0
// The rules of what says where a pod may run (docs/spec/apiserver.md 14.4).
#pragma once

#include <string>

#include "embedded/kinds/checks.hpp"

namespace athanor::apiserver {

// Affinity, tolerations, spread constraints and scheduling gates of a pod spec, below `path`.
void check_placement(FieldErrors& errors, const Value& spec, const std::string& path);
// A list of tolerations.
void check_tolerations(FieldErrors& errors, const Value& tolerations, const std::string& path);

}  // namespace athanor::apiserver
