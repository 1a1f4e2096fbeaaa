// SPDX-License-Identifier: Apache-2.0
// The fixed rule by which one of several owners of a thing has it.
#pragma once

#include <tuple>

#include "kube/value/object.hpp"

namespace athanor {

// Returns true if `a` has what both want: the older object, of equally old ones the first by
// namespace and name.
inline bool precedes(const Object& a, const Object& b) {
  return std::tuple(a.creation_time().value_or(Instant()), a.key()) <
         std::tuple(b.creation_time().value_or(Instant()), b.key());
}

}  // namespace athanor
