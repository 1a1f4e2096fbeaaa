// SPDX-License-Identifier: Apache-2.0
// The rights of the operator (docs/spec/numa.md 5.3).
#pragma once

#include "kube/value/value.hpp"

namespace athanor::numa {

// Returns rules of its ClusterRole (the next one: of its Role in the operands' namespace).
Value operator_cluster_rules();
Value operator_rules();

}  // namespace athanor::numa
