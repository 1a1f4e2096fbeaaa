// SPDX-License-Identifier: Apache-2.0
// The row of a pod.
#pragma once

#include "embedded/kinds/cells.hpp"

namespace athanor::apiserver {

Cells pod_cells(const Value& pod, Instant now);

}  // namespace athanor::apiserver
