// SPDX-License-Identifier: Apache-2.0
// The operator: operands and status of the DASOperator `cluster` (docs/spec/das.md 10).
#pragma once

#include "runtime/view/operator.hpp"

namespace athanor::das {

// Returns the operator that reconciles the DASOperator `cluster`.
const Operator& das_operator();

}  // namespace athanor::das
