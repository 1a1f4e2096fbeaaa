// SPDX-License-Identifier: Apache-2.0
// Why a Workload waits (docs/spec/kueue.md 17): each cause with its object, who is ahead of it,
// whom preemption would make room from, and until when the quota it needs is held at most. Pure;
// the command line and messages of jobs read it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/time.hpp"
#include "kube/value/kind.hpp"
#include "kube/value/object.hpp"
#include "runtime/view/view.hpp"

namespace athanor::kueue {

struct Explanation {
  struct Cause {
    std::string object{};  // "ClusterQueue/a"; of a namespace: "LocalQueue/ns/a"
    std::string text{};
  };
  struct Ahead {
    Key workload{};
    std::int64_t position = 0;  // in its ClusterQueue, from 0
    std::int64_t priority = 0;
  };
  struct Preempted {
    Key workload{};
    std::string cluster_queue{};
    std::string why{};  // "to accommodate a workload in the same ClusterQueue"
  };

  Key workload{};
  std::string owner{};  // "FournosJob/x"; empty: none
  std::string local_queue{};
  std::string cluster_queue{};
  std::string state{};  // "waits", "has quota", "runs", "finished", "inactive"
  std::vector<Cause> causes{};
  std::optional<std::int64_t> position{};
  std::vector<Ahead> ahead{};  // the nearest ones; `position` says how many there are
  std::vector<Preempted> preempts{};
  // When the quota it needs is free at the latest, by the maximum execution times of those who hold
  // it, if nobody else comes; nullopt: too many of them name none.
  std::optional<Instant> free_at{};
  std::int64_t without_end = 0;  // those who hold its queues' quota and name none

  [[nodiscard]] Value to_value() const;
  [[nodiscard]] std::string text(Instant now) const;
};

// Reads queues, flavors and Workloads through the view.
Explanation explain(const View& view, const Object& workload, Instant now);

}  // namespace athanor::kueue
