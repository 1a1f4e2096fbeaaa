// SPDX-License-Identifier: Apache-2.0
// Snapshot: the queueing world of one admission cycle: queues, flavors, quota and its use, read
// from a View.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "embedded/kueue/quota_tree.hpp"
#include "embedded/kueue/workload_info.hpp"
#include "kube/selector.hpp"
#include "runtime/view/view.hpp"

namespace athanor::kueue {

struct Flavor {
  std::string name{};
  Value node_labels{};
  Value node_taints{};
  Value tolerations{};
};

struct FlavorQuotas {
  std::string name{};
  std::vector<std::string> resources{};  // in order
};

struct ResourceGroup {
  std::vector<std::string> covered{};
  std::vector<FlavorQuotas> flavors{};  // in order of preference
};

struct ClusterQueue {
  Object object{};
  std::string name{};
  QuotaTree::NodeId node = 0;
  std::vector<ResourceGroup> groups{};
  LabelSelector namespaces{};
  bool strict_fifo = false;
  bool try_next_when_borrowing = false;
  // Why it takes no part; empty when it is active. The reason and message of its Active condition.
  std::string inactive_reason{};
  std::string inactive_message{};

  [[nodiscard]] bool active() const { return inactive_reason.empty(); }
  [[nodiscard]] bool covers(std::string_view resource) const;
};

struct LocalQueue {
  Object object{};
  std::string cluster_queue{};
  bool stopped = false;
};

struct Snapshot {
  std::map<std::string, Flavor> flavors{};
  std::map<std::string, ClusterQueue> cluster_queues{};
  std::map<Key, LocalQueue> local_queues{};
  QuotaTree quota{};
};

// Queues, flavors and quota without any use of it.
Snapshot read_queues(const View& view);

}  // namespace athanor::kueue
