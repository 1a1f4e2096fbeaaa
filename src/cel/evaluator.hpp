// SPDX-License-Identifier: Apache-2.0
// Evaluates a checked expression and counts what that costs.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "cel/checker.hpp"
#include "cel/functions/functions.hpp"
#include "cel/values/ast.hpp"
#include "cel/values/val.hpp"

namespace athanor::cel {

using Bindings = std::vector<std::pair<std::string, Val>>;

// Result of an evaluation and its cost.
struct Evaluation {
  Val value{};             // Kind::Error when the evaluation failed
  std::uint64_t cost = 0;  // units of 50 ns, as Kubernetes counts them (meter.hpp)
  std::size_t made = 0;    // bytes of the values that it made
};

// The error of an evaluation beyond its limits starts with this.
inline constexpr const char* kCostExceeded = "operation cancelled: actual cost limit exceeded";

// Variables and limits of an evaluation; all references outlive it.
struct EvaluationInput {
  const Bindings& bindings;
  Runtime& runtime;  // with the meter
};
// Evaluates the expression. Beyond the limits of the meter the value is an error that starts with
// kCostExceeded. Errors are short: texts from the outside are cut in them.
Evaluation evaluate(const Expr& root, const Checked& checked, const EvaluationInput& input);

// Returns a call's cost in Kubernetes without its arguments, and what its result adds to that.
std::uint64_t call_cost(const Overload& overload, Arguments arguments);
std::uint64_t result_cost(const Overload& overload, const Val& result);
// Returns a call's real use: ticks for the texts that it reads, bytes of a new result.
std::uint64_t read_ticks(const Overload& overload, Arguments arguments);
std::size_t made_bytes(const Overload& overload, const Val& result);

}  // namespace athanor::cel
