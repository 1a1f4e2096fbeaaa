// SPDX-License-Identifier: Apache-2.0
// The rules of LimitRanges (docs/spec/apiserver.md 14.4).
#pragma once

#include "embedded/kinds/checks.hpp"

namespace athanor::apiserver {

// Checks the items of a LimitRange's spec.
FieldErrors check_limits(const Value& limits);

}  // namespace athanor::apiserver
