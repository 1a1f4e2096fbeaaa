// SPDX-License-Identifier: Apache-2.0
// Operators of the system DAS: the one place that the lab and the command line read.
#pragma once

#include <span>
#include <vector>

#include "api/describe.hpp"
#include "kube/value/value.hpp"
#include "runtime/view/admission.hpp"
#include "runtime/view/node_hooks.hpp"
#include "runtime/view/operator.hpp"
#include "runtime/view/scheduling.hpp"
#include "systems/das/model/kinds.hpp"
#include "systems/das/model/settings.hpp"

namespace athanor::das {

// Returns the operators (the next function: the node hooks) of DAS.
std::span<const Operator* const> das_operators();
std::span<const NodeHooks* const> das_nodes();
// Returns the first objects of a lab: the namespace, and the DASOperator.
std::vector<Value> das_lab_objects(const Settings& settings);

}  // namespace athanor::das
