// SPDX-License-Identifier: Apache-2.0
// Why a Workload waits (docs/spec/kueue.md 17): each cause with its object and the event that ends
// it, who is ahead, who holds the quota it needs, what preemption would free, and when it may
// start. Pure; the command line and the served group read it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.hpp"
#include "embedded/kueue/explain/cause_kind.hpp"
#include "embedded/kueue/explain/estimate.hpp"
#include "embedded/kueue/explain/quota_report.hpp"
#include "kube/value/kind.hpp"
#include "kube/value/object.hpp"
#include "runtime/view/view.hpp"

namespace athanor::kueue {

// Limits of an explanation: it names no Workload of namespaces that the reader may not see.
struct Audience {
  std::function<bool(std::string_view ns)> sees{};  // empty: all
};

// Why a Workload waits, for `athanor queues explain`, the visibility API and the console.
struct Explanation {
  struct Cause {
    CauseKind kind = CauseKind::RequestRefused;
    std::string object{};  // "ClusterQueue/a"; of a namespace: "LocalQueue/ns/a"
    std::string text{};
    std::string unblocked_by{};  // the event that ends it; empty: none
    Value details{};             // of NamespaceNotMatched: {namespaceSelector, labels}
  };
  struct Ahead {
    Key workload{};
    std::int64_t position = 0;  // in its ClusterQueue, from 0
    std::int64_t priority = 0;
  };
  struct Preempted {
    Key workload{};
    std::string cluster_queue{};
    std::string why{};  // "prioritization in the ClusterQueue"
    // What it holds: flavor, resource, quantity.
    struct Freed {
      FlavorResource of{};
      std::string amount{};
    };
    std::vector<Freed> frees{};
  };

  Key workload{};
  std::string owner{};  // "FournosJob/x"; empty: none
  std::string local_queue{};
  std::string cluster_queue{};
  std::string state{};  // "waits", "has quota", "runs", "finished", "inactive"
  // Of one that waits and fits now: the flavor of each resource.
  std::map<std::string, std::string> flavors{};
  std::vector<Cause> causes{};
  std::optional<std::int64_t> position{};
  std::vector<Ahead> ahead{};  // the nearest ones; `position` says how many there are
  std::vector<Preempted> preempts{};
  std::size_t hidden = 0;              // Workloads left out, as the viewer may not see them
  std::vector<std::string> missing{};  // kinds that could not be read: causes may be missing
  std::vector<QuotaReport> quotas{};   // that it needs; none: something else is in the way
  // When it may start, as the simulation of the queues from now on estimates.
  std::optional<StartEstimate> estimate{};

  [[nodiscard]] Value to_value() const;
  [[nodiscard]] std::string text(Instant now) const;
};

// Reads queues, flavors and Workloads through the view.
Explanation explain(const View& view, const Object& workload, Instant now,
                    const Audience& viewer = {});

}  // namespace athanor::kueue
