// SPDX-License-Identifier: Apache-2.0
// Submitting scheduled jobs on emulated nodes, where Athanor's image is not run: the node creates
// the FournosJob of such a pod before its container starts.
#pragma once

#include "runtime/view/node_hooks.hpp"

namespace athanor::fournos {

const NodeHooks& submit_step();

}  // namespace athanor::fournos
