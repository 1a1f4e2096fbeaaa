// SPDX-License-Identifier: Apache-2.0
// The operators that scenario files name.
#pragma once

#include <string_view>

#include "runtime/view/operator.hpp"

namespace athanor::test {

// By Operator::name; nullptr: none of that name.
const Operator* find_operator(std::string_view name);

}  // namespace athanor::test
