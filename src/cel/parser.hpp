// SPDX-License-Identifier: Apache-2.0
// From the text of an expression to its syntax tree, macros expanded.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "cel/values/ast.hpp"
#include "cel/values/source.hpp"

namespace athanor::cel {

// Result of parse().
struct Parsed {
  ExprPtr root{};             // null when there are issues
  std::uint32_t last_id = 0;  // ids are 1..last_id
  std::vector<Issue> issues{};
};

// Parses an expression; syntax errors become issues.
Parsed parse(std::string_view source);

}  // namespace athanor::cel
