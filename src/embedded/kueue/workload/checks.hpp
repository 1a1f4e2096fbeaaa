// SPDX-License-Identifier: Apache-2.0
// What the engine does about AdmissionChecks beside their use (docs/spec/kueue.md 9).
#pragma once

#include "runtime/view/operator.hpp"

namespace athanor::kueue {

// Adds the finalizer kueue.x-k8s.io/resource-in-use to AdmissionChecks.
const Operator& check_finalizer_operator();

}  // namespace athanor::kueue
