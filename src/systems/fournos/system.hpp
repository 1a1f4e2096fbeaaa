// SPDX-License-Identifier: Apache-2.0
// Fournos as a system: benchmark jobs (docs/spec/fournos.md).
#pragma once

#include "runtime/view/system.hpp"

namespace athanor::fournos {

// Returns the system with its kinds, operators and settings.
const System& system();

// Returns the stand-in that serves jobs in further namespaces of a lab.
const System& labelled_namespaces_system();

}  // namespace athanor::fournos
