// SPDX-License-Identifier: Apache-2.0
// Macros: has, all, exists, exists_one, map, filter, their forms with two variables, transformList,
// transformMap, transformMapEntry, optMap, optFlatMap.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cel/builder.hpp"
#include "cel/values/ast.hpp"

namespace athanor::cel {

// The expression that replaces a macro, or why it is malformed.
struct Expansion {
  ExprPtr expr{};  // null: see `error`
  std::string error{};
  std::uint32_t position = 0;  // of the error
};

// Returns the expansion of a call; nullopt for an ordinary call (the arguments are then untouched).
// `target` is null for a global call. Takes target and arguments apart.
std::optional<Expansion> expand_macro(Builder& builder, const std::string& name, ExprPtr& target,
                                      std::vector<ExprPtr>& arguments);

}  // namespace athanor::cel
