// SPDX-License-Identifier: Apache-2.0
// For operators that write objects of kinds that others choose: among Operator::writes and
// Operator::access this kind means every one. Such objects are read live (live.hpp), as
// nothing watches them. No role is generated for it: who runs the operator grants what it may
// write.
#pragma once

#include "kube/value/kind.hpp"

namespace athanor {

inline constexpr Kind kAnyKind{"*", "*", "*", "*", true};

}  // namespace athanor
