// SPDX-License-Identifier: Apache-2.0
// Overview, problems and insights of the console (docs/spec/dashboard.md B4.1, B4.11). Pure.
#pragma once

#include <span>

#include "base/time.hpp"
#include "console/world/world.hpp"
#include "kube/value/value.hpp"

namespace athanor::console {

// Rows that the pages are made from.
struct OverviewRows {
  std::span<const Value> jobs{};  // live and archived
  std::span<const Value> workloads{};
  std::span<const Value> clusters{};
  std::span<const Value> locks{};
  std::span<const Value> appwrappers{};
  std::span<const Value> nodes{};
};

// Returns the cards: jobs, queue, GPUs, clusters, locks, MIG, NUMA, AppWrappers, failures.
Value overview(const Facts& facts, const OverviewRows& rows, Instant now);
// Returns [{severity, object, since, text, action}], the worst first.
Value problems(const Facts& facts, const OverviewRows& rows, Instant now);
// Returns percentiles, failures, evictions and utilisation of a period.
Value insights(std::span<const Value> jobs, const Facts& facts, Instant from, Instant now);

}  // namespace athanor::console
