// SPDX-License-Identifier: Apache-2.0
// Objects with their owners and what they own, for the tab Related (docs/spec/dashboard.md G7).
// Pure.
#pragma once

#include <vector>

#include "kube/value/object.hpp"
#include "kube/value/value.hpp"

namespace athanor::console {

// Returns {kind, apiVersion, ns, name, uid, state} of an object.
Value related_value(const Object& object);
// Returns the tree from the topmost owner among `all` down: each node as related_value() with
// message, created and children; `current` marks the subject. A node has the pods, slices and
// topology that are on it.
Value owner_tree(const Object& subject, const std::vector<Object>& all);

}  // namespace athanor::console
