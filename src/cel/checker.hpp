// SPDX-License-Identifier: Apache-2.0
// The type of every part of an expression, and which overloads its calls may mean.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cel/functions/functions.hpp"
#include "cel/values/ast.hpp"
#include "cel/values/source.hpp"
#include "cel/values/type.hpp"

namespace athanor::cel {

using Declarations = std::map<std::string, TypePtr, std::less<>>;

// By the id of the expression.
struct Checked {
  std::vector<TypePtr> types{};
  std::vector<std::vector<const Overload*>> overloads{};
  std::vector<Issue> issues{};
};

// Rewrites names with dots ("sets.contains", "net.IP") as it finds what they mean.
Checked check(Expr& root, std::uint32_t last_id, const Declarations& declarations);

}  // namespace athanor::cel
