// SPDX-License-Identifier: Apache-2.0
// Whether a document has the form of a described type: what is edited as a map is one.
#pragma once

#include "api/describe.hpp"

namespace athanor::api {

// Returns true if every field that is present and holds an object, a list or a map in the type does
// so in `value`. Scalars are not looked at, and unknown fields neither. Admission runs before the
// schema is checked: a mutating webhook leaves an object of another form alone, and the check of
// the schema refuses it.
bool is_shaped(const TypeInfo& type, const Value& value);

}  // namespace athanor::api
