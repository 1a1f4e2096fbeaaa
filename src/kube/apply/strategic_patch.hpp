// SPDX-License-Identifier: Apache-2.0
// Strategic merge patch: RFC 7386 plus lists merged by key and the $-directives
// (docs/spec/apiserver.md 9.5).
#pragma once

#include "base/result.hpp"
#include "kube/schema/schema.hpp"
#include "kube/value/value.hpp"

namespace athanor {

// Returns the document with the patch applied; patchStrategy and patchMergeKey come from the
// schema's fields. Untouched subtrees stay shared with `document`. Errors: BadRequest for a
// malformed directive or a patch that is not an object, Invalid (422) for an unknown patch type and
// an element without its merge key. A type without schema (nullptr, Any) merges as RFC 7386.
Result<Value> apply_strategic_patch(const Value& document, const Value& patch, SchemaPtr schema);

}  // namespace athanor
