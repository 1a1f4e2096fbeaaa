// SPDX-License-Identifier: Apache-2.0
// Validation of custom resources against their schema, with the texts of docs/spec/apiserver.md
// 13.4. CEL rules, metadata and built-in kinds have their own places.
#pragma once

#include <string_view>
#include <vector>

#include "kube/names/field_error.hpp"
#include "kube/schema/schema.hpp"
#include "kube/value/value.hpp"

namespace athanor {

// Returns a schema's accepted types as messages name them ("array", "integer,string"); empty: any.
std::string_view expected_type(SchemaType type);

struct ValidateOptions {
  // The stored object of an update: errors in subtrees equal to it are not reported (ratcheting).
  const Value* old_object = nullptr;
  // Where `value` sits; "" for a whole object.
  std::string_view path{};
  // Only what sets and maps may not hold: the rest of a schema is not asked about an object of
  // another type.
  bool list_keys_only = false;
};

// Returns all errors in document order; empty when valid. Requires a pruned and defaulted value.
std::vector<FieldError> validate(const Value& value, const Schema& schema,
                                 const ValidateOptions& options = {});

}  // namespace athanor
