// SPDX-License-Identifier: Apache-2.0
// Queues and Workloads for the console (docs/spec/dashboard.md B4.4). Pure.
#pragma once

#include <vector>

#include "console/data/job_rows.hpp"
#include "console/model/row_table.hpp"
#include "console/world/world.hpp"
#include "kube/value/value.hpp"

namespace athanor::console {

// Columns of GET /workloads.
const ListShape& workload_shape();
// Returns the Workloads in the order of their queues, then those that have finished.
std::vector<Value> workload_rows(const Facts& facts, const JobSurroundings& surroundings);
// Returns ClusterQueues with their quotas, LocalQueues, and the matrix of clusters and GPU types.
Value queue_page(const Facts& facts, const JobSurroundings& surroundings);

}  // namespace athanor::console
