// SPDX-License-Identifier: Apache-2.0
// Objects that a Select chooses, and reads that a change of an object touches.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kube/value/kind.hpp"
#include "kube/value/object.hpp"
#include "runtime/view/operator.hpp"
#include "runtime/view/view.hpp"

namespace athanor {

// Returns the values of an index for an object: the built-in "owner" (uids of its owners) and
// "node" (spec.nodeName), or one of `declared`. nullopt: no such index for the kind.
std::optional<std::vector<std::string>> index_values(const Kind& kind, const Object& object,
                                                     std::string_view index,
                                                     std::span<const Index> declared);
// Returns true if `object`, of `kind`, is in the list that `select` describes. An unknown index is
// a broken invariant.
bool selects(const Kind& kind, const Select& select, const Object& object,
             std::span<const Index> declared);
// Returns true for a list that depends on every object of its kind.
bool is_coarse(const Kind& kind, const Select& select);

}  // namespace athanor
