// SPDX-License-Identifier: Apache-2.0
// Steps that several operators write: an object that belongs to another one.
#pragma once

#include <optional>

#include "base/time.hpp"
#include "kube/value/object.hpp"
#include "runtime/view/plan.hpp"
#include "runtime/view/view.hpp"
#include "systems/numa/kinds.hpp"

namespace athanor::numa {

// Applies `object`, of `kind`, with `owner` as its controller.
void apply_owned(const Kind& kind, Value object, const Object& owner, Plan& plan);
// Takes steps that the API server refused out of the plan and returns the first refusal.
std::optional<Error> drop_refused(const View& view, Instant now, Plan& plan);
// The kind of an object that the operators deploy, by its "kind".
const Kind& kind_of(const Value& object);

}  // namespace athanor::numa
