// SPDX-License-Identifier: Apache-2.0
// JSON Patch (RFC 6902) and JSON Merge Patch (RFC 7386) over Values. Strategic merge:
// strategic_patch.hpp.
#pragma once

#include "base/result.hpp"
#include "kube/value/value.hpp"

namespace athanor {

// Errors: BadRequest for a malformed patch; Invalid, with the reason as the message, for one that
// does not apply (docs/spec/apiserver.md 9.4).
Result<Value> apply_json_patch(const Value& document, const Value& patch);
Value apply_merge_patch(const Value& document, const Value& patch);
// Without the members that are null, at any depth: what a patch brings where there was nothing.
// Shares what has none.
Value without_nulls(const Value& value);
// The smallest merge patch that turns `from` into `to`; Null when they are equal. Lists are
// replaced whole.
Value make_merge_patch(const Value& from, const Value& to);

}  // namespace athanor
