// SPDX-License-Identifier: Apache-2.0
// What the rest of the program needs to know of the NUMA stack.
#pragma once

#include <string>
#include <vector>

#include "api/describe.hpp"
#include "base/result.hpp"
#include "kube/value.hpp"
#include "runtime/view/node_hooks.hpp"
#include "runtime/view/operator.hpp"
#include "runtime/view/scheduling.hpp"
#include "systems/numa/settings.hpp"

namespace athanor::numa {

// Kinds that a lab serves.
std::vector<const api::CustomKind*> lab_kinds(const Settings& settings);
// Operators of a lab: those of the system, and what stands in for its operands.
std::vector<const Operator*> lab_operators();
// Objects that a lab starts with: pools and the facts that say which platform it is.
std::vector<Value> lab_objects(const Settings& settings);
// Annotations of an emulated node with these zones (`numa` of a node in a lab file). Errors name
// the member.
Result<Value> node_annotations(const Value& zones);
// Labels of such a node.
Result<Value> node_labels(const Value& zones);

}  // namespace athanor::numa
