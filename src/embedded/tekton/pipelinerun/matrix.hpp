// SPDX-License-Identifier: Apache-2.0
// The combinations of a matrix task: one TaskRun each (docs/spec/tekton.md 3.3).
#pragma once

#include <vector>

#include "embedded/tekton/substitute.hpp"
#include "kube/value/value.hpp"

namespace athanor::tekton {

// The matrix with results and other variables replaced.
Value substituted_matrix(Value matrix, const Replacements& replacements);

// The params of every combination, in the order of their TaskRuns: the first param varies fastest;
// then what `include` adds. A list that is not known yet gives none. `matrix` is substituted.
std::vector<Value> matrix_combinations(const Value& matrix);

}  // namespace athanor::tekton
