// SPDX-License-Identifier: Apache-2.0
// Metrics of AppWrappers (docs/spec/appwrapper.md 8.6, B-16).
#pragma once

#include "runtime/view/instruments.hpp"

namespace athanor::appwrapper {

// Returns the metrics computed from AppWrappers.
const Instruments& appwrapper_instruments();

}  // namespace athanor::appwrapper
