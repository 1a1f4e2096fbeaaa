// SPDX-License-Identifier: Apache-2.0
// The descriptor of dynamic resource allocation in a lab.
#pragma once

#include "runtime/view/system.hpp"

namespace athanor::devices {

// Returns the hooks of scheduler and nodes.
const System& system();

}  // namespace athanor::devices
