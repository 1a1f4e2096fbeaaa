// SPDX-License-Identifier: Apache-2.0
// Metrics of slices (docs/spec/das.md 11 V4, V5).
#pragma once

#include "runtime/view/instruments.hpp"

namespace athanor::das {

// Returns the metrics computed from claims and NodeAccelerators.
const Instruments& das_instruments();

}  // namespace athanor::das
