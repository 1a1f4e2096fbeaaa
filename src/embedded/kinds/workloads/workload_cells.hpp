// SPDX-License-Identifier: Apache-2.0
// Rows of the workload kinds.
#pragma once

#include "embedded/kinds/cells.hpp"

namespace athanor::apiserver {

// Returns the row of an object.
Cells deployment_cells(const Value& object, Instant now);
Cells replica_set_cells(const Value& object, Instant now);
Cells replication_controller_cells(const Value& object, Instant now);
Cells stateful_set_cells(const Value& object, Instant now);
Cells daemon_set_cells(const Value& object, Instant now);
Cells controller_revision_cells(const Value& object, Instant now);

}  // namespace athanor::apiserver
