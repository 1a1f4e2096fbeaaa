// SPDX-License-Identifier: Apache-2.0
// Fournos' metrics (docs/spec/fournos.md section 16).
#pragma once

#include "runtime/view/instruments.hpp"

namespace athanor::fournos {

// Returns the metrics computed from FournosJobs and their children.
const Instruments& fournos_instruments();

}  // namespace athanor::fournos
