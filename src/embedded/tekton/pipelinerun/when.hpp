// SPDX-License-Identifier: Apache-2.0
// When expressions: guards of a pipeline task (docs/spec/tekton.md 7.3).
#pragma once

#include <string>

#include "cel/conditions.hpp"
#include "embedded/tekton/model/substitute.hpp"
#include "kube/value/value.hpp"

namespace athanor::tekton {

// Returns the list for skippedTasks and childReferences: variables in input and values replaced.
Value resolved_when(const Value& when, const Replacements& replacements);
// Returns true if every expression of the resolved `when` holds; true for an empty list.
bool when_allows(const Value& when, cel::Conditions& conditions);
// Returns why a CEL expression has no value of true or false; empty: all have one.
std::string when_problem(const Value& when, cel::Conditions& conditions);

}  // namespace athanor::tekton
