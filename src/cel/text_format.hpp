// SPDX-License-Identifier: Apache-2.0
// "%s is %d".format([a, b]).
#pragma once

#include <string_view>

#include "cel/val.hpp"

namespace athanor::cel {

// A Kind::Error value when the format is malformed or does not fit its arguments.
Val format_text(std::string_view format, const ListNode& arguments);

}  // namespace athanor::cel
