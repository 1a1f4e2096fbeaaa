// SPDX-License-Identifier: Apache-2.0
// "%s is %d".format([a, b]).
#pragma once

#include <string_view>

#include "cel/values/meter.hpp"
#include "cel/values/val.hpp"

namespace athanor::cel {

// Returns the text; a Kind::Error value when the format is malformed or does not fit its arguments.
// Asks the meter for room; the result means nothing once that is over its limits.
Val format_text(std::string_view format, const ListNode& arguments, Meter& meter);

}  // namespace athanor::cel
