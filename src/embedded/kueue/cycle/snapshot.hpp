// SPDX-License-Identifier: Apache-2.0
// Snapshot: the queueing world as its administrator set it up: queues, flavors, quota.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/time.hpp"
#include "embedded/kueue/cycle/quota_tree.hpp"
#include "embedded/kueue/model/workload_info.hpp"
#include "kube/names/selector.hpp"
#include "runtime/view/view.hpp"

namespace athanor::kueue {

// A ResourceFlavor: the labels, taints and tolerations of its spec.
struct Flavor {
  std::string name{};
  Value node_labels{};
  Value node_taints{};
  Value tolerations{};
};

// The quotas of one flavor in a ClusterQueue.
struct FlavorQuotas {
  std::string name{};
  const Flavor* flavor = nullptr;          // of the snapshot; nullptr: it does not exist
  std::vector<std::string> resources{};    // in order
  std::vector<QuotaTree::CellId> cells{};  // of these
};

// One of spec.resourceGroups of a ClusterQueue.
struct ResourceGroup {
  std::vector<std::string> covered{};
  std::vector<FlavorQuotas> flavors{};              // in order of preference
  std::set<std::string, std::less<>> label_keys{};  // of these flavors
};

// Which workloads may be preempted, by their priority.
enum class PreemptionPolicy : std::uint8_t { Never, LowerPriority, LowerOrNewerEqualPriority, Any };

// A ClusterQueue with its spec parsed; its quotas are in the tree at `node`.
struct ClusterQueue {
  Object object{};
  std::string name{};
  QuotaTree::NodeId node = 0;
  std::vector<ResourceGroup> groups{};
  LabelSelector namespaces{};
  bool strict_fifo = false;
  // Under StrictFIFO the head keeps back only those who would take a flavor that it could take.
  bool strict_per_flavor = false;
  // Flavor fungibility (7.6): whether a later flavor is tried before this one borrows, or takes
  // quota from others; and which of the two is preferred.
  bool try_next_when_borrowing = false;
  bool try_next_when_preempting = true;
  bool prefers_preemption = false;
  PreemptionPolicy within_queue = PreemptionPolicy::Never;
  PreemptionPolicy reclaim = PreemptionPolicy::Never;
  bool preempts_while_borrowing = false;
  std::optional<std::int64_t> borrow_threshold{};  // highest priority to be preempted so
  // Why it takes no part; empty when it is active. The reason and message of its Active condition.
  std::string inactive_reason{};
  std::string inactive_message{};

  [[nodiscard]] bool active() const { return inactive_reason.empty(); }
  [[nodiscard]] bool covers(std::string_view resource) const;
  [[nodiscard]] bool may_preempt() const {
    return within_queue != PreemptionPolicy::Never || reclaim != PreemptionPolicy::Never;
  }
};

// A node of the quota tree: a ClusterQueue, or a cohort with what is below it.
struct TreeNode {
  std::string name{};
  const ClusterQueue* queue = nullptr;  // nullptr: a cohort
  double weight = 1;                    // of fair sharing
  std::vector<QuotaTree::NodeId> cohorts{};
  std::vector<const ClusterQueue*> queues{};
};

// A LocalQueue; `cluster_queue` may name one that does not exist.
struct LocalQueue {
  Object object{};
  std::string cluster_queue{};
  bool stopped = false;
  // A workload that waits longer blocks all behind it, as a head of StrictFIFO does.
  std::optional<Duration> max_wait{};
};

// Annotations (docs/spec/kueue.md 17): max-wait of a LocalQueue holds a duration, strict-fifo
// of a ClusterQueue "PerFlavor".
inline constexpr std::string_view kMaxWait = "athanor.dev/max-wait";
inline constexpr std::string_view kStrictFifo = "athanor.dev/strict-fifo";
inline constexpr std::string_view kPerFlavor = "PerFlavor";

// All queues, flavors and cohorts. Not changed after read_queues().
struct Snapshot {
  Snapshot() = default;
  Snapshot(const Snapshot&) = delete;  // its parts point to each other
  Snapshot& operator=(const Snapshot&) = delete;

  std::map<std::string, Flavor> flavors{};
  std::map<std::string, ClusterQueue> cluster_queues{};
  std::map<Key, LocalQueue> local_queues{};
  QuotaTree quota{};              // without any use of it
  std::vector<TreeNode> nodes{};  // by node of the tree
  std::map<std::string, QuotaTree::NodeId> cohorts{};
  // The cells of the tree by the names of sums (sum_name), in their order.
  std::vector<std::pair<std::string, QuotaTree::CellId>> sums{};
};

// Separates flavor and resource in the name of a sum; occurs in neither.
inline constexpr char kSumSeparator = '\n';
// Returns the name under which the caches sum the use of a flavor's resource.
std::string sum_name(std::string_view flavor, std::string_view resource);

// Returns "/root/cohort/queue" (7.8).
std::string path_of(const Snapshot& snapshot, QuotaTree::NodeId node);

// Returns the current snapshot; rebuilt only when a queue, a flavor, a cohort or a check changes by
// more than its status. Of objects in it only what makes_same_snapshot compares is current.
std::shared_ptr<const Snapshot> read_queues(const View& view);
// Returns true if both states of an object of these kinds make the same snapshot: the status of a
// queue, which each admission changes, is no part of it.
bool makes_same_snapshot(const Kind& kind, const Object& before, const Object& after);

}  // namespace athanor::kueue
