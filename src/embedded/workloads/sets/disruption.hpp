// SPDX-License-Identifier: Apache-2.0
// The disruption controller: how many pods each PodDisruptionBudget may lose now.
#pragma once

#include "runtime/view/operator.hpp"

namespace athanor::workloads {

const Operator& disruption_operator();

}  // namespace athanor::workloads
