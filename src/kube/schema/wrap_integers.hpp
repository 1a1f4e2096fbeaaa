// SPDX-License-Identifier: Apache-2.0
// Numbers that do not fit into the type of their field.
#pragma once

#include "kube/schema/schema.hpp"
#include "kube/value/value.hpp"

namespace athanor {

// Returns the object with integers of 32 bit fields cut to 32 bits, as the reference converts
// objects that it did not decode (applied ones). Shares what does not change.
Value wrap_integers(const Value& object, SchemaPtr schema);

}  // namespace athanor
