// SPDX-License-Identifier: Apache-2.0
// Clusters, locks and GPUs for the console (docs/spec/dashboard.md B4.5). Pure.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/time.hpp"
#include "console/data/job_rows.hpp"
#include "console/model/row_table.hpp"
#include "console/model/visible.hpp"
#include "console/world/world.hpp"
#include "kube/value/object.hpp"
#include "kube/value/value.hpp"
#include "views/job_view.hpp"

namespace athanor::console {

// Columns of GET /clusters, respectively of GET /locks.
const ListShape& cluster_shape();
const ListShape& lock_shape();

// Returns clusters that Hearth manages, then those that the queue alone knows.
std::vector<Value> cluster_rows(const Facts& facts, const JobSurroundings& surroundings);
// Returns the clusters that are locked, or about to be.
std::vector<Value> lock_rows(const Facts& facts, const JobSurroundings& surroundings);
// Returns a lock without the names of jobs that it waits for and blocks.
Value bare_lock(Value lock);
// Returns one cluster's bare lock; Null: there is none.
Value lock_of(const Facts& facts, const JobSurroundings& surroundings, std::string_view cluster);
// Returns one cluster with its jobs, as far as these are visible, its nodes, and its quota beside
// its hardware; Null: unknown.
Value cluster_page(const Facts& facts, const JobSurroundings& surroundings,
                   std::string_view cluster, const Visible& jobs);
// Returns GPUs by type over all clusters: [{type, total, used, free}].
Value gpu_totals(const Facts& facts);

// Returns GPU-hours since `from` by "owner", "project" or "namespace", from rows of jobs.
Value gpu_hours(std::span<const Value> jobs, std::string_view by, Instant from, Instant now);
// Input of the timeline.
struct FleetPast {
  std::span<const Value> jobs{};   // rows
  std::span<const Value> locks{};  // rows of locks that are held, and records of ended ones
  std::map<std::string, std::vector<views::PhaseMoment>> phases{};  // that were seen, by uid
};
// Returns one lane for each cluster with a bar for each phase of its jobs in a period, and its
// locks.
Value fleet_timeline(const FleetPast& past, Instant from, Instant to, Instant now);

}  // namespace athanor::console
