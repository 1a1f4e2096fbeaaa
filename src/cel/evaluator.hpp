// SPDX-License-Identifier: Apache-2.0
// Evaluates a checked expression and counts what that costs.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "cel/ast.hpp"
#include "cel/checker.hpp"
#include "cel/functions/functions.hpp"
#include "cel/val.hpp"

namespace athanor::cel {

using Bindings = std::vector<std::pair<std::string, Val>>;

// Result of an evaluation and its cost.
struct Evaluation {
  Val value{};             // Kind::Error when the evaluation failed
  std::uint64_t cost = 0;  // units of 50 ns, as Kubernetes counts them
};

// The error of an evaluation that cost more than its limit starts with this.
inline constexpr const char* kCostExceeded = "operation cancelled: actual cost limit exceeded";

// Variables and limits of an evaluation; all references outlive it.
struct EvaluationInput {
  const Bindings& bindings;
  std::uint64_t cost_limit = 0;
  Runtime& runtime;
};
// Evaluates the expression. Beyond the cost limit the value is an error that starts with
// kCostExceeded.
Evaluation evaluate(const Expr& root, const Checked& checked, const EvaluationInput& input);

// What one call costs besides its arguments, and what its result adds to that.
std::uint64_t call_cost(const Overload& overload, Arguments arguments);
std::uint64_t result_cost(const Overload& overload, const Val& result);

// Field or index of a value; an error when it is absent ("no such key: x").
Val index_value(const Val& operand, const Val& key);

}  // namespace athanor::cel
