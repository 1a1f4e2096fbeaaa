// SPDX-License-Identifier: Apache-2.0
// Verbosity as the DASOperator asks for it (docs/spec/das.md 10.5).
#pragma once

#include <string>

#include "runtime/view/operator.hpp"
#include "runtime/view/plan.hpp"
#include "systems/das/model/kinds.hpp"

namespace athanor::das {

// Returns the more verbose of logLevel and operatorLogLevel: all components share one process.
std::string log_level_of(const DASOperator& op);
// Takes that level over; once for each change, and Normal only as a change.
Plan take_log_level(const DASOperator& op);

// Returns the operator for processes without the DASOperator's.
const Operator& log_level_operator();

}  // namespace athanor::das
