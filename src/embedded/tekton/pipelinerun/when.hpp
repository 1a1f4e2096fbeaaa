// SPDX-License-Identifier: Apache-2.0
// When expressions: guards of a pipeline task (docs/spec/tekton.md 7.3).
#pragma once

#include "embedded/tekton/substitute.hpp"
#include "kube/value/value.hpp"

namespace athanor::tekton {

// The list with variables replaced in input and values; what skippedTasks and childReferences show.
Value resolved_when(const Value& when, const Replacements& replacements);
// True when every expression holds (an empty list always does). `when` is resolved.
bool when_allows(const Value& when);

}  // namespace athanor::tekton
