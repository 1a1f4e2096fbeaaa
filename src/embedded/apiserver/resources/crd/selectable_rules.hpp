// SPDX-License-Identifier: Apache-2.0
// The rules of a definition's selectableFields (docs/spec/apiserver.md 13.2).
#pragma once

#include <vector>

#include "kube/names/field_error.hpp"
#include "kube/value/value.hpp"

namespace athanor::apiserver {

// What versions have in common the reference takes out of them before it looks: fields that differ
// between versions need schemas that differ, and the other way round.
std::vector<FieldError> check_selectable_fields(const Value& versions);

}  // namespace athanor::apiserver
