// SPDX-License-Identifier: Apache-2.0
// Objects within custom objects (x-kubernetes-embedded-resource: true): what they call themselves,
// and their metadata.
#pragma once

#include <vector>

#include "kube/names/field_error.hpp"
#include "kube/schema/schema.hpp"
#include "kube/value/value.hpp"

namespace athanor {

// Returns true if a value of this schema may hold such objects.
bool embeds_objects(const Schema& schema);

// Returns their errors beyond their schemas. Requires a pruned and defaulted value.
std::vector<FieldError> validate_embedded(const Value& value, const Schema& schema);

}  // namespace athanor
