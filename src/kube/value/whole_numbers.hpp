// SPDX-License-Identifier: Apache-2.0
// Numbers like 2.0, which are stored as 2: a custom object that says 2.0 again is another one.
#pragma once

#include "kube/value/value.hpp"

namespace athanor {

// Returns true if a number anywhere in the value is a floating point one that an integer represents
// as well.
[[nodiscard]] bool has_whole_doubles(const Value& value);

// Returns the value with integers in their places. Shares what does not change. Skips parts shared
// with `clean`, which has none.
[[nodiscard]] Value whole_doubles_as_integers(const Value& value, const Value& clean = {});

}  // namespace athanor
