// SPDX-License-Identifier: Apache-2.0
// Literal arguments that cannot be right: timestamp("x"), duration("1y"), matches("("),
// '%d'.format(['x']).
#pragma once

#include <vector>

#include "cel/functions/functions.hpp"
#include "cel/values/ast.hpp"
#include "cel/values/source.hpp"

namespace athanor::cel {

// Result of check_literals().
struct Literals {
  std::vector<Issue> issues{};
  Runtime::RegexMap regexes{};  // every literal expression, compiled
};

// Checks the literal arguments of all calls and compiles the literal regular expressions.
Literals check_literals(const Expr& root);

// Calls `visit` with every direct part of an expression.
template <class Visit>
void for_each_child(const Expr& expr, Visit visit) {
  if (expr.target != nullptr) {
    visit(*expr.target);
  }
  for (const ExprPtr& argument : expr.arguments) {
    visit(*argument);
  }
  for (const MapEntry& entry : expr.entries) {
    visit(*entry.key);
    visit(*entry.value);
  }
  if (expr.fold != nullptr) {
    for (const ExprPtr* part : {&expr.fold->range, &expr.fold->initial, &expr.fold->condition,
                                &expr.fold->step, &expr.fold->result}) {
      visit(**part);
    }
  }
}

}  // namespace athanor::cel
