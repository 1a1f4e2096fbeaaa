// SPDX-License-Identifier: Apache-2.0
// The row of a pod.
#pragma once

#include "embedded/kinds/cells.hpp"

namespace athanor::apiserver {

// Returns it; its STATUS is the state of the containers, as kubectl shows it.
Cells pod_cells(const Value& pod, Instant now);

}  // namespace athanor::apiserver
