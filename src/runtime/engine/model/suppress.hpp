// SPDX-License-Identifier: Apache-2.0
// The outcome of a step, given what is known: nothing, a request, or a failure (docs/engine.md 2,
// rule 6).
#pragma once

#include <optional>
#include <variant>

#include "base/result.hpp"
#include "kube/value/object.hpp"
#include "runtime/engine/model/write_request.hpp"
#include "runtime/view/plan.hpp"

namespace athanor::runtime {

// Knowledge of a step's target. `newest` is `cached`, or what a write of the same plan
// returned.
struct Known {
  bool watched = false;  // the caches hold this kind: absence means something
  const Object* cached = nullptr;
  const Object* newest = nullptr;
  const Object* viewed = nullptr;  // as the plan knew it, if that may have been before `cached`
};

struct Nothing {};  // the effect is already there
using Outcome = std::variant<Nothing, WriteRequest, Error>;

// Resolves a step. `last_fields`: what this process applied last to this object as this manager;
// nullptr: nothing yet.
Outcome resolve(const Apply& step, const Known& known, const Value* last_fields);
Outcome resolve(const Create& step, const Known& known);
Outcome resolve(const Patch& step, const Known& known);
Outcome resolve(const Status& step, const Known& known);
Outcome resolve(const Replace& step, const Known& known);
Outcome resolve(const Delete& step, const Known& known);

// Returns true if every leaf of `fields` is in `live`; list elements may have more members and be
// anywhere.
bool covers(const Value& live, const Value& fields);

}  // namespace athanor::runtime
