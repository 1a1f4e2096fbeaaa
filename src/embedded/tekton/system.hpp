// SPDX-License-Identifier: Apache-2.0
// Tekton-compatible pipelines as a system, for labs and clusters without Tekton
// (docs/spec/tekton.md).
#pragma once

#include "runtime/view/system.hpp"

namespace athanor::tekton {

// Returns the kinds, operators, webhooks and settings of system "tekton".
const System& system();

}  // namespace athanor::tekton
