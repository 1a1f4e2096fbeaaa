// SPDX-License-Identifier: Apache-2.0
// JSON Patch (RFC 6902) and JSON Merge Patch (RFC 7386) over Values. Strategic merge:
// strategic_patch.hpp.
#pragma once

#include "base/result.hpp"
#include "kube/value/value.hpp"

namespace athanor {

// Applies the patch. Errors: BadRequest for a malformed patch; Invalid, with the reason as the
// message, for one that does not apply (docs/spec/apiserver.md 9.4).
Result<Value> apply_json_patch(const Value& document, const Value& patch);
Value apply_merge_patch(const Value& document, const Value& patch);
// Returns the value without the members that are null, at any depth: the result of a patch where
// nothing existed. Shares parts without nulls.
Value without_nulls(const Value& value);
// Returns the smallest merge patch that turns `from` into `to`; Null when they are equal. Lists are
// replaced whole.
Value make_merge_patch(const Value& from, const Value& to);

}  // namespace athanor
