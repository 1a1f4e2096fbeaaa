// SPDX-License-Identifier: Apache-2.0
// Resources of containers as the downward API gives them.
#pragma once

#include <string>

#include "kube/value/object.hpp"
#include "runtime/view/view.hpp"

namespace athanor::nodes {

// Returns the amount that a resourceFieldRef names ("limits.memory"), in units of its divisor (1
// without one), rounded up. A limit that the container does not have is what its node can give.
std::string resource_field(const View& view, const Object& pod, const Value& container,
                           const Value& reference);
// Returns the container that a resourceFieldRef names, or `own` where it names none.
const Value& referenced_container(const Object& pod, const Value& reference, const Value& own);

}  // namespace athanor::nodes
