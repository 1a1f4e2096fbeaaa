// SPDX-License-Identifier: Apache-2.0
// When a Workload may start, by simulation (docs/spec/kueue.md 17): the admission cycle itself runs
// over the queues as they stand, on a clock that jumps from the end of one run to that of the next.
// How long runs take is what their Workloads declare, or what earlier runs of the queue took. Pure.
#pragma once

#include <cstddef>
#include <optional>

#include "base/time.hpp"
#include "embedded/kueue/cycle/snapshot.hpp"
#include "kube/value/object.hpp"
#include "runtime/view/view.hpp"

namespace athanor::kueue {

// The earliest and latest start of a waiting Workload.
struct StartEstimate {
  // If runs take as long as half of those before them; nullopt: not within what is known.
  std::optional<Instant> earliest{};
  // If runs take as long as they may, or as nine out of ten before them.
  std::optional<Instant> latest{};
  std::size_t runs = 0;  // that ended, and whose length is known
};

// Estimates for a Workload that waits, without new arrivals. Both are nullopt where more than
// a few thousand Workloads share the quota.
StartEstimate estimate_start(const View& view, const Snapshot& queues, const ClusterQueue& queue,
                             const Object& workload, Instant now);

}  // namespace athanor::kueue
