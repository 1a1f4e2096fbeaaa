// SPDX-License-Identifier: Apache-2.0
// The mock resolver of labs (docs/spec/fournos.md 17.4, R17.2): a pod of its image does not have to
// run anywhere, the emulated node writes what its program would.
#pragma once

#include "runtime/view/node_hooks.hpp"

namespace athanor::fournos {

// Returns the hooks by which an emulated node patches the FournosJob when it admits a resolver pod.
const NodeHooks& mock_resolver();

}  // namespace athanor::fournos
