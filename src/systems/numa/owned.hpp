// SPDX-License-Identifier: Apache-2.0
// Steps that several operators write: an object that belongs to another one.
#pragma once

#include "kube/object.hpp"
#include "runtime/view/plan.hpp"
#include "systems/numa/kinds.hpp"

namespace athanor::numa {

// Applies `object`, of `kind`, with `owner` as its controller.
void apply_owned(const Kind& kind, Value object, const Object& owner, Plan& plan);
// The kind of an object that the operators deploy, by its "kind".
const Kind& kind_of(const Value& object);

}  // namespace athanor::numa
