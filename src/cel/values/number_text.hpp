// SPDX-License-Identifier: Apache-2.0
// Numbers as text, the way Go prints them.
#pragma once

#include <string>

namespace athanor::cel {

// Returns the shortest decimal text without an exponent: "1.5", "100000000", "NaN", "+Inf".
std::string plain_double(double number);
// Returns the shortest text, with an exponent where Go's %v has one: "1e+21".
std::string shortest_double(double number);

}  // namespace athanor::cel
