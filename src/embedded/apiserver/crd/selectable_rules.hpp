// SPDX-License-Identifier: Apache-2.0
// The rules of a definition's selectableFields (docs/spec/apiserver.md 13.2).
#pragma once

#include <vector>

#include "kube/names/field_error.hpp"
#include "kube/value/value.hpp"

namespace athanor::apiserver {

// Checks selectable fields. As the reference takes out first what versions have in common, fields
// that differ between versions need schemas that differ, and the other way round.
std::vector<FieldError> check_selectable_fields(const Value& versions);

}  // namespace athanor::apiserver
