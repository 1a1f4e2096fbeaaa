// SPDX-License-Identifier: Apache-2.0
// The rules of what says where a pod may run (docs/spec/apiserver.md 14.4).
#pragma once

#include <string>

#include "embedded/kinds/checks.hpp"

namespace athanor::apiserver {

// Checks a pod spec's affinity, tolerations, spread constraints and scheduling gates below `path`.
void check_placement(FieldErrors& errors, const Value& spec, const std::string& path);
// Checks a list of tolerations.
void check_tolerations(FieldErrors& errors, const Value& tolerations, const std::string& path);

}  // namespace athanor::apiserver
