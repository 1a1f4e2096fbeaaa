// SPDX-License-Identifier: Apache-2.0
// The combinations of a matrix task: one TaskRun each (docs/spec/tekton.md 3.3).
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "embedded/tekton/model/substitute.hpp"
#include "kube/value/value.hpp"

namespace athanor::tekton {

// Returns the matrix with results and other variables replaced.
Value substituted_matrix(Value matrix, const Replacements& replacements);

// Returns the product of the lengths of a matrix's params, without params 1; `most` + 1 if it is
// larger than `most`. A param that is no list counts as one value.
std::size_t crossed_combinations(const Value& matrix, std::size_t most);
// Returns true if the matrix has more than `most` combinations, or includes; makes none of them.
bool exceeds_combinations(const Value& matrix, std::size_t most);

// Returns the params of every combination, in the order of their TaskRuns: the first param varies
// fastest; then `include`'s. An unknown list gives none. Requires a substituted `matrix` of
// bounded size (exceeds_combinations).
std::vector<Value> matrix_combinations(const Value& matrix);

// Returns the name of the last named include that agrees with the params of a TaskRun; empty: none.
std::string combination_name(const Value& matrix, const Value& params);

}  // namespace athanor::tekton
