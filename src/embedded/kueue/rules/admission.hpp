// SPDX-License-Identifier: Apache-2.0
// What Kueue's webhooks do at write time, as pure functions (docs/spec/kueue.md 5.1, 5.3).
#pragma once

#include <optional>
#include <string>

#include "base/result.hpp"
#include "kube/value/value.hpp"

namespace athanor::kueue {

// Finalizers and defaults of a new object.
void apply_defaults(Value& object);
// Takes the minimum of every pod set out of a Workload.
void without_min_counts(Value& object);
// Validates. Error: the denial (403 Forbidden, the webhook's text). `old` is null on create.
Result<void> validate(const Value& object, const Value* old);

}  // namespace athanor::kueue
