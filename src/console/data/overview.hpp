// SPDX-License-Identifier: Apache-2.0
// Overview, problems and insights of the console (docs/spec/dashboard.md B4.1, B4.11). Pure.
#pragma once

#include <span>

#include "base/time.hpp"
#include "console/model/visible.hpp"
#include "console/world/world.hpp"
#include "kube/value/value.hpp"

namespace athanor::console {

// Kinds of the whole cluster whose sums the viewer may see.
struct OverviewSums {
  bool quota = true;          // of ClusterQueues
  bool slices = true;         // of NodeAccelerators
  bool zones = true;          // of NodeResourceTopologies
  Visible pods{.all = true};  // pods that problems may name
};

// Rows that the pages are made from, and sums that are made from the objects themselves.
struct OverviewRows {
  std::span<const Value> jobs{};  // live and archived
  std::span<const Value> workloads{};
  std::span<const Value> clusters{};
  std::span<const Value> locks{};
  std::span<const Value> appwrappers{};
  std::span<const Value> nodes{};
  const Value* slices = nullptr;  // slice_map()
  const Value* zones = nullptr;   // zone_map()
  OverviewSums sums{};
};

// Returns the cards: jobs, queue, GPUs, clusters, locks, MIG, NUMA, AppWrappers, failures.
Value overview(const Facts& facts, const OverviewRows& rows, Instant now);
// Returns [{severity, object, since, text, action}], the worst first.
Value problems(const Facts& facts, const OverviewRows& rows, Instant now);
// Input of the insights.
struct InsightsRows {
  std::span<const Value> jobs{};       // live and archived
  std::span<const Value> evictions{};  // {at, ns, queue, count}, the oldest first
  std::span<const Value> clusters{};   // with their GPUs
};
// Returns percentiles, failures, evictions by LocalQueue, and utilisation of a period: the
// GPU-hours of jobs in per cent of those of the cluster's quota, by hour of the day.
Value insights(const InsightsRows& rows, Instant from, Instant now);
// Returns {clusters: [{cluster, count, fights, last}], newest: [{at, cluster, fight}]}: a summary
// of repairs of quota, which are given with the newest first.
Value repair_summary(std::span<const Value> repairs);

}  // namespace athanor::console
