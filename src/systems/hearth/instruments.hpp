// SPDX-License-Identifier: Apache-2.0
// Hearth's metrics (docs/spec/hearth.md section 12).
#pragma once

#include "runtime/view/instruments.hpp"

namespace athanor::hearth {

// Names and numbers alone: nothing of a kubeconfig.
const Instruments& hearth_instruments();

}  // namespace athanor::hearth
