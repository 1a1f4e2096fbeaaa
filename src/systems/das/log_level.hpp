// SPDX-License-Identifier: Apache-2.0
// Verbosity as the DASOperator asks for it (docs/spec/das.md 10.5).
#pragma once

#include <string>

#include "runtime/view/operator.hpp"
#include "runtime/view/plan.hpp"
#include "systems/das/kinds.hpp"

namespace athanor::das {

// The more verbose of logLevel and operatorLogLevel: one process is operator, scheduler and agent.
std::string log_level_of(const DASOperator& op);
// Takes that level over; once for each change, and Normal only as a change.
Plan take_log_level(const DASOperator& op);

// For processes without the operator.
const Operator& log_level_operator();

}  // namespace athanor::das
