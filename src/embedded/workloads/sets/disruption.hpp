// SPDX-License-Identifier: Apache-2.0
// The disruption controller: how many pods each PodDisruptionBudget may lose now.
#pragma once

#include "runtime/view/operator.hpp"

namespace athanor::workloads {

// Returns the operator: writes the status of budgets.
const Operator& disruption_operator();

}  // namespace athanor::workloads
