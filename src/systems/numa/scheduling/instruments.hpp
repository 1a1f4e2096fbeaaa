// SPDX-License-Identifier: Apache-2.0
// Metrics of zones (docs/spec/numa.md 14).
#pragma once

#include "runtime/view/instruments.hpp"

namespace athanor::numa {

// Metrics of programs that schedule by zones.
const Instruments& scheduling_instruments();
// Metrics of the operators.
const Instruments& operator_instruments();

}  // namespace athanor::numa
